"""Receivers: adding and confirming them, and sending alerts and digests to them."""
