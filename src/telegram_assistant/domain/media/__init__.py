"""Files of posts, and what is seen in them."""
