"""Posts: landing, versions, deletions, counts, albums and quiet changes."""
