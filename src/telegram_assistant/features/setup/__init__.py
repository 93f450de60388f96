"""Getting an installation started: its connection to Telegram, and the steps up to channels that are read."""
