"""People: logins, sessions and members of tenants."""
