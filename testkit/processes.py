"""Memory and last words of processes."""

from pathlib import Path

MB = 1024
"""In the kilobytes that /proc speaks of."""


def proportional_mb(pids: list[int]) -> float:
    """Of those that still live."""
    found = (Path(f"/proc/{pid}/smaps_rollup") for pid in pids)
    texts = [file.read_text(encoding="ascii") for file in found if file.exists()]
    return sum(int(line.split()[1]) for text in texts for line in text.splitlines() if line.startswith("Pss:")) / MB


def with_children(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *(one for child in children for one in with_children(int(child)))]


def last_words(log: Path) -> str:
    return log.read_text(encoding="utf-8")[-2000:]
