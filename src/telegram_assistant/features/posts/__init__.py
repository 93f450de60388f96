"""Posts, and what channels changed in them after publishing."""
