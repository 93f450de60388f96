"""Files of posts and their vision results."""
