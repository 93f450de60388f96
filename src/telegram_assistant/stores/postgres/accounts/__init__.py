"""Telegram accounts: sessions, leases, logins, floods and budgets."""
