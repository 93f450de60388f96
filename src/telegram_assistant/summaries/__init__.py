"""Summaries of the posts of one story, made of their own sentences: no model, no I/O."""
