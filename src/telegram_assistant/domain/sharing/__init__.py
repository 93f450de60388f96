"""What leaves the pages: copies with their sources, and public links."""
