"""Commands about AI providers, tags and local models."""
