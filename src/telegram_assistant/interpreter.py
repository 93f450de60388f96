"""Settings of Python and glibc for processes that run for months and answer at once: memory, cycles,
threads.
"""

import ctypes
import gc
import sys

MMAP_THRESHOLD, TRIM_THRESHOLD, ARENA_MAX = -3, -1, -8
"""The parameters of mallopt(3)."""
LARGE_BYTES = 128 * 1024
MAX_ARENAS = 2
COLLECT_AFTER = (10_000, 20, 10)
"""New objects before a collection of the youngest generation, and collections before one of the next."""
SWITCH_SECONDS = 0.001


def return_freed_memory() -> None:
    """Make glibc return large blocks to the operating system as soon as they are freed.

    By default glibc raises its threshold after the first large block. Pages and pictures of megabytes then
    leave holes in the heap: a hostile load left half of the process's memory allocated and unused. Does
    nothing on systems without glibc.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in (
            (MMAP_THRESHOLD, LARGE_BYTES),
            (TRIM_THRESHOLD, LARGE_BYTES),
            (ARENA_MAX, MAX_ARENAS),
        ):
            mallopt(parameter, value)


def collect_seldom() -> None:
    """Look for cycles after 10,000 new objects instead of 700, and never among those that exist now.

    A page makes thousands of objects that live until it is sent, and hardly a cycle: looking for some ten
    times per page takes a tenth of its time. A look through everything that the program has imported stops
    all pages for 100 ms.
    """
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def switch_threads_often() -> None:
    """Let the event loop go on after 1 ms instead of 5 while a thread computes.

    A page makes some 24 round trips to PostgreSQL and waits for the interpreter after each of them: with one
    thread that sums up a story they took 21 ms instead of 4, with two threads 100 instead of 16.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
