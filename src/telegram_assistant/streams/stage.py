"""What a stage is: one decorated async function whose collaborators are keyword-only parameters."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, get_type_hints

from telegram_assistant.errors import CannotStart
from telegram_assistant.events import Event

type Emitted = Event | Sequence[Event] | None
"""What a handler returns: the events to publish, if any."""


@dataclass(frozen=True, slots=True)
class Stage[**Parameters, Result: Emitted]:
    """A declaration. Everything that is not thinking follows from it: reading, retries, counters, traces, dead letters."""

    name: str
    handler: Callable[Parameters, Awaitable[Result]]
    consumes: tuple[type[Event], ...]
    emits: tuple[type[Event], ...]
    concurrency: int
    batch: int | None
    """How many events the handler gets at once, as a list; None: one by one."""
    timeout_seconds: float
    attempts: int
    backoff_seconds: float
    may_lag: bool
    """However much it is behind, posts go on to be announced."""
    needs: Mapping[str, Any] = field(default_factory=dict)
    """Collaborators by name, with the class that each must be of."""

    async def __call__(self, *args: Parameters.args, **collaborators: Parameters.kwargs) -> Result:
        """Calls the plain function, for tests."""
        return await self.handler(*args, **collaborators)

    @property
    def capacity(self) -> int:
        """How many entries one process may hold: what it can work on, and not one more."""
        return self.concurrency * (self.batch or 1)

    def retry_after_seconds(self, deliveries: int) -> float:
        """How long an entry rests after its n-th failure, before jitter."""
        return float(min(self.backoff_seconds * 2 ** (deliveries - 1), 600.0))


type AnyStage = Stage[..., Any]


class DeclareStage(Protocol):
    """Turns a handler into a stage that keeps its types."""

    def __call__[**Parameters, Result: Emitted](self, handler: Callable[Parameters, Awaitable[Result]]) -> Stage[Parameters, Result]: ...


def stage(
    *,
    consumes: type[Event] | tuple[type[Event], ...],
    emits: type[Event] | tuple[type[Event], ...] = (),
    concurrency: int = 8,
    batch: int | None = None,
    timeout_seconds: float = 60.0,
    attempts: int = 5,
    backoff_seconds: float = 1.0,
    may_lag: bool = False,
) -> DeclareStage:
    """Declare a stage. Its name is the function's: the consumer group, the metrics and the dead letters bear it."""

    def declare[**Parameters, Result: Emitted](handler: Callable[Parameters, Awaitable[Result]]) -> Stage[Parameters, Result]:
        hints = get_type_hints(handler)
        keyword_only = [name for name, one in inspect.signature(handler).parameters.items() if one.kind is one.KEYWORD_ONLY]
        return Stage(
            name=handler.__name__,
            handler=handler,
            consumes=consumes if isinstance(consumes, tuple) else (consumes,),
            emits=emits if isinstance(emits, tuple) else (emits,),
            concurrency=concurrency,
            batch=batch,
            timeout_seconds=timeout_seconds,
            attempts=attempts,
            backoff_seconds=backoff_seconds,
            may_lag=may_lag,
            needs={name: hints[name] for name in keyword_only},
        )

    return declare


def bind(declared: AnyStage, collaborators: Mapping[str, object]) -> dict[str, Any]:
    """The stage's collaborators out of those that the App has; CannotStart names what is missing or of another kind."""
    found: dict[str, Any] = {}
    for name, wanted in declared.needs.items():
        if name not in collaborators:
            raise CannotStart(f"the stage {declared.name} needs {name!r} and the App has none", remedy="Add it to assembly.py")
        if isinstance(wanted, type) and not isinstance(collaborators[name], wanted):
            why = f"the stage {declared.name} needs {name!r} to be {wanted.__name__}, and it is {type(collaborators[name]).__name__}"
            raise CannotStart(why, remedy="Correct assembly.py or the stage's signature")
        found[name] = collaborators[name]
    return found


def part_of(stage: str) -> str:
    """Under which name health tells of a stage."""
    return f"stage {stage}"
