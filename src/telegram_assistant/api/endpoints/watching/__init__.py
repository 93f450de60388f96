"""Endpoints about watches: alerts, and where they go."""
