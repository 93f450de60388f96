"""Pages of channels: the list, one channel, adding channels and what became of requests."""
