"""Measured comparisons: ours beside the bare engine, in one run.

`python -m bench.NAME --json` prints one JSON line last.
"""
