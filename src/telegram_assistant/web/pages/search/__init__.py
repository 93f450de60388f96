"""Search, and the list of destinations behind ⌘K."""
