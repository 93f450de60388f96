"""Endpoints about posts and their changes."""
