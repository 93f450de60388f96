"""Reading channels: polls, backfills, pushed updates and previews."""
