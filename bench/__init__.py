"""Measured comparisons: ours beside the bare engine, in one run.

`python -m bench.NAME --json` prints one JSON line last. The ten gates are here; the others are in `studies/`,
and have the same command.
"""

from pathlib import Path

__path__.append(str(Path(__file__).parent / "studies"))
