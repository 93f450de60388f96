"""The pipeline: outbox, notices, dead letters, rebuilds and counts per stage."""
