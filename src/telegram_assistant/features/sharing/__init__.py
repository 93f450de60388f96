"""What leaves the pages: copies with their sources in four formats, and public links."""
