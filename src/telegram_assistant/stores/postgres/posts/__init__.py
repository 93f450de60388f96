"""Posts: landing, versions, deletions, counts, albums, the feed and quiet changes."""
