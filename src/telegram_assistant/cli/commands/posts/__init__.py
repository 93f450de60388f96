"""Commands about posts."""
