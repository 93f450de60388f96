"""Endpoints about stories, their summaries and trends."""
