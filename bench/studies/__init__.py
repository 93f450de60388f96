"""Benchmarks that answered a question of a design. They are run again when that design changes."""
