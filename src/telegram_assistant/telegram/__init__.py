"""Telegram through Telethon. No other package uses Telethon."""
