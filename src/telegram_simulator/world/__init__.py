"""Contents of the simulated Telegram: channels, posts, accounts, files. Nothing here knows the wire."""
