"""The graph: facts that a post adds to it."""
