"""Endpoints about the caller and the members of a tenant."""
