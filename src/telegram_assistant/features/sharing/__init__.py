"""Sharing: copies with their sources in four formats, and public links."""
