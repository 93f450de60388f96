"""The feed of a tenant, and as a person reads it."""
