"""People who read: who they are, and what they have read."""
