"""How many entries a call may get while a machine is too slow for whole batches.

A call that takes too long halves the limit, so that its work is not repeated at a size that cannot end. The
limit doubles again as soon as a call shows that twice as many entries would take half of the time limit.
"""


class BatchLimit:
    """The largest batch that a stage hands to its handler at present."""

    def __init__(self, largest: int, *, timeout_seconds: float) -> None:
        self._largest = largest
        self._timeout_seconds = timeout_seconds
        self.size = largest

    def halve(self, size: int) -> None:
        """Note that a call with `size` entries took too long."""
        self.size = max(min(self.size, size // 2), 1)

    def note_success(self, size: int, seconds: float) -> None:
        """Note that a call with `size` entries ended after `seconds`."""
        if self.size <= size < self._largest and seconds * 2 <= self._timeout_seconds / 2:
            self.size = min(size * 2, self._largest)
