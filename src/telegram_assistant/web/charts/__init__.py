"""Charts as shapes that templates draw."""
