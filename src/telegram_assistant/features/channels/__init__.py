"""Channels: following, lists, folders, coverage and polling."""
