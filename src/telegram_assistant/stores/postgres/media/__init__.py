"""Files of posts: what is stored, what is seen in them, and their upkeep."""
