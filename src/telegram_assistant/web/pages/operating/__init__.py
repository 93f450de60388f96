"""Pages of the operator: what the installation does, dead letters, tenants."""
