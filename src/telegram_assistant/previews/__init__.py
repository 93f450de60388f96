"""Public previews of channels (t.me/s/NAME), read without an account."""
