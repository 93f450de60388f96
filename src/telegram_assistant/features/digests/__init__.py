"""Digests: what changed since the last one."""
