"""Tenants: roles of people, scopes and API keys."""
