"""Files of posts: showing them, thumbnails, and upkeep of the store."""
