"""Telegram through Telethon, and nothing of Telethon beyond this room."""
