"""Pages about stories: Today, a story, trends."""
