"""Unofficial Telegram Assistant: follows channels, keeps every post, tells people what is new."""

__version__ = "0.1.0"
