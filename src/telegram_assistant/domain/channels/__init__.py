"""Channels: how they are named, when they are read, and what of them is proven to be read."""
