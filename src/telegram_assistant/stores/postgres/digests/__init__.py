"""Digests of people, and their interests."""
