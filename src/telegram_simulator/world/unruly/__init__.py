"""A world that lies like the real one: the demo world with what real channels do beside telling stories."""
