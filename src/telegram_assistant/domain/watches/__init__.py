"""Watches and the alerts that they raise."""
