"""Tagging and picture analysis of posts, shared by the stages and by the loop that improves results later."""
