"""Translates Telegram's messages into our values."""
