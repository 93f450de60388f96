"""Pages about what leaves the pages: copies and public links."""
