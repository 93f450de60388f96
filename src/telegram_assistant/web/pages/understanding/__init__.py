"""Pages about AI, its cost, and tags."""
