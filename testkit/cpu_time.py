"""A limit of CPU time, which a busy machine does not use up as it does the time of a clock."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Fail if what runs inside keeps this process's CPUs busy for longer.

    Garbage that other tests left is not collected meanwhile.
    """
    gc.disable()
    began = time.process_time()
    try:
        yield
    finally:
        spent = time.process_time() - began
        gc.enable()
    assert spent <= seconds, f"{spent:.2f} s of CPU time instead of at most {seconds} s"
