"""Search: queries, facets, rank fusion and snippets."""
