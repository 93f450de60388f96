"""Watches: saving and previewing them, and their alerts."""
