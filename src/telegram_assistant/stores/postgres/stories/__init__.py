"""Stories, and the words by which posts are compared."""
