"""Endpoints about AI policies, tags and spending."""
