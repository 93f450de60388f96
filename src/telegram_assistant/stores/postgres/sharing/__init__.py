"""Stores of public links."""
