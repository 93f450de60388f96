"""Branches of the pipeline: a post has passed it when every branch has ended."""

from dataclasses import dataclass

MAX_BRANCHES = 15
"""Bits of the smallint that keeps which branches of a post have ended."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One of several branches, as a bit among all of them."""

    bit: int
    all_bits: int

    @classmethod
    def at(cls, position: int, *, count: int) -> "Branch":
        """The branch at this position of `count`."""
        return cls(1 << position, (1 << count) - 1)


ONLY_BRANCH = Branch.at(0, count=1)
