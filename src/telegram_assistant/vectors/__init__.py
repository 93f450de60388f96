"""Semantic search: vector stores behind one protocol, embedded or a server,
and the index that keeps them in sync with PostgreSQL.
"""
