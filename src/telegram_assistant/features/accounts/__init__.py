"""Telegram accounts: adding them, logging in, and setting an installation up."""
