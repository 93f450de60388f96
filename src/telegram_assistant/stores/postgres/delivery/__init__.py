"""Delivery: the outbox, notices, dead letters, periodic jobs and rebuilds."""
