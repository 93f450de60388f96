"""From posts to stored tags and picture descriptions: shared by stages and by the loop that improves results later."""
