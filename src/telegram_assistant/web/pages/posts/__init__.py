"""Pages about posts and their changes."""
