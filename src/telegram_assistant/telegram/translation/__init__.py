"""Telegram's messages translated into our values."""
