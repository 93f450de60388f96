"""Commands about Telegram accounts."""
