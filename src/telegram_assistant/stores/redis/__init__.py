"""Redis beside the streams: locks, marks, caches, limits.

All of it can be lost and rebuilt; PostgreSQL is the source of truth.
"""
