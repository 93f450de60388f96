"""Digests: what changed since the last one, and the interests that rank it."""
