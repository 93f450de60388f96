"""Commands about digests and interests."""
