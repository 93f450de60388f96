"""Stories as one tenant sees them."""
