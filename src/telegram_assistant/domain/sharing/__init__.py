"""Sharing: copies with their sources, and public links."""
