"""Stores: PostgreSQL, Redis and files.

Connections never leave this package; one public method is one short transaction.
"""
