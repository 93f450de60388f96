"""Posts: their text, versions, counts and place in a channel."""
