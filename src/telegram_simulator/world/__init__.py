"""What the simulated Telegram contains: channels, posts, accounts, files. Nothing here knows the wire."""
