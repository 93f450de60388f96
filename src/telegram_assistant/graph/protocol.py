"""What the graph needs of a server."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

type Row = dict[str, Any]


class RunStatement(Protocol):
    """One statement within a transaction."""

    async def __call__(self, text: str, **values: Any) -> list[Row]: ...  # noqa: ANN401 -- as the driver takes them


class GraphServer(Protocol):
    """Busy is whatever passes."""

    async def read(self, text: str, **values: Any) -> list[Row]: ...  # noqa: ANN401 -- as above

    async def write[T](self, work: Callable[[RunStatement], Awaitable[T]]) -> T:
        """In one transaction; what failed for a passing reason is run again, so it may run twice."""
        ...

    async def alone(self, text: str, *, takes_long: bool = False, **values: Any) -> None:  # noqa: ANN401 -- as above
        """In a transaction of its own, as changes of the schema and deletions of very much must be."""
        ...
