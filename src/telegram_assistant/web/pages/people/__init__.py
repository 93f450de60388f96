"""Pages about people: login, profile and members of a tenant."""
