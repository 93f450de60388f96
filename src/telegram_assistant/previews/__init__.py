"""Reads public previews of channels (t.me/s/NAME) without an account."""
