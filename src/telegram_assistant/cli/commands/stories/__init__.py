"""Commands about stories, digests and trends."""
