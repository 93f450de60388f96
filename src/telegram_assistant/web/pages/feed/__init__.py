"""The feed, and the stream of counts for open pages."""
