"""Settings of glibc's memory allocator for processes that run for months."""

import ctypes

MMAP_THRESHOLD, TRIM_THRESHOLD, ARENA_MAX = -3, -1, -8
"""The parameters of mallopt(3)."""
LARGE_BYTES = 128 * 1024
MAX_ARENAS = 2


def return_freed_memory() -> None:
    """Make glibc return large blocks to the operating system as soon as they are freed.

    By default glibc raises its threshold after the first large block. Pages and pictures of megabytes then leave holes in the
    heap: a hostile load left half of the process's memory allocated and unused. Does nothing on systems without glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((MMAP_THRESHOLD, LARGE_BYTES), (TRIM_THRESHOLD, LARGE_BYTES), (ARENA_MAX, MAX_ARENAS)):
            mallopt(parameter, value)
