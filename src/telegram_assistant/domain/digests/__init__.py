"""Digests: when a person gets one, and what it says."""
