"""Pages about receivers, subscriptions by mail, and feeds as files."""
