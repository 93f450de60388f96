"""Digests: their content, when a person gets one, and what the person is interested in."""
