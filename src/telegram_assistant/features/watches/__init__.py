"""Watches: saving and previewing them, reading alerts, delivering them."""
