"""A limit of CPU time, which a busy machine does not use up as it does the time of a clock."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Fail if what runs inside keeps this process's CPUs busy for longer."""
    began = time.process_time()
    yield
    spent = time.process_time() - began
    assert spent <= seconds, f"{spent:.2f} s of CPU time instead of at most {seconds} s"
