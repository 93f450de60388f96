"""Pages about Telegram accounts and the first setup."""
