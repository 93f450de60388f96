"""Pages that people read: feed, posts, search, changes, tags, forwards, files."""
