"""Telegram accounts: leases, logins, budgets and risk."""
