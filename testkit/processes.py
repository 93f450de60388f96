"""Memory and last words of processes."""

from pathlib import Path

MB = 1024
"""In the kilobytes that /proc speaks of."""


def proportional_mb(pids: list[int]) -> float:
    """Of those that still live."""
    return sum(_proportional_kb(pid) for pid in pids) / MB


def _proportional_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def with_children(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *(descendant for child in children for descendant in with_children(int(child)))]


def last_words(log: Path) -> str:
    return log.read_text(encoding="utf-8")[-2000:]
