"""Files of posts: download queue, stored objects, vision results and upkeep."""
