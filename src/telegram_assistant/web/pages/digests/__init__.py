"""Pages about digests and interests."""
