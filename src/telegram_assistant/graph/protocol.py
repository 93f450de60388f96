"""The protocol of a graph server."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

type Row = dict[str, Any]


class RunStatement(Protocol):
    """Runs one statement within a transaction."""

    async def __call__(self, text: str, **values: Any) -> list[Row]: ...  # noqa: ANN401 -- as the driver


class GraphServer(Protocol):
    """A graph server. Raises Busy for passing errors."""

    async def read(self, text: str, **values: Any) -> list[Row]: ...  # noqa: ANN401 -- as above

    async def write[T](self, work: Callable[[RunStatement], Awaitable[T]]) -> T:
        """Runs `work` in one transaction. It is retried after a passing error, so it may run twice."""
        ...

    async def alone(
        self,
        text: str,
        *,
        takes_long: bool = False,
        **values: Any,  # noqa: ANN401 -- as above
    ) -> None:
        """Runs a statement in a transaction of its own,
        as schema changes and very large deletions require.
        """
        ...
