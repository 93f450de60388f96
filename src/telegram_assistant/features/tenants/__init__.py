"""Tenants, their API keys and audit log."""
