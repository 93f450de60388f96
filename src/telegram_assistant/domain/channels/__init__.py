"""Channels: references, requests to follow, coverage, and when they are read."""
