"""Pages about tenants, API keys and the audit log."""
