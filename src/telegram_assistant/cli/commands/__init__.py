"""Commands for people who read and manage channels."""
