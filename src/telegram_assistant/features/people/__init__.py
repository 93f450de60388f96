"""People: logins, passwords and members of a tenant."""
