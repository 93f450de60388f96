"""People who log in to the pages."""
