"""Commands about tenants and API keys."""
