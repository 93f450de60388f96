"""Ask: a question becomes sentences of posts that answer it."""
