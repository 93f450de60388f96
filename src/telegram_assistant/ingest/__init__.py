"""Ingest: follows channels, from Telegram's updates and history to rows in PostgreSQL."""
