"""Pages about watches and alerts."""
