"""Search: the full-text index and its queries."""
