"""Ingest: following channels, from what Telegram tells to what PostgreSQL keeps."""
