"""Streams under random trouble: the workers, the faults, and what must be true afterwards."""
