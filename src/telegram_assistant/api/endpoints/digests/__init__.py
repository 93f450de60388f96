"""Endpoints about digests and interests."""
