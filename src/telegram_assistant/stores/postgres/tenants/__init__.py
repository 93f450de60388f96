"""Tenants: people, API keys, the audit log and idempotency keys."""
