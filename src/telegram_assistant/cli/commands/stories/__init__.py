"""Commands about stories and trends."""
