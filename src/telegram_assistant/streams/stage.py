"""Defines a stage: one decorated async function whose collaborators are keyword-only parameters."""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, get_type_hints

from telegram_assistant.errors import CannotStart
from telegram_assistant.events import Event
from telegram_assistant.reasons import Reason

type Emitted = Event | Sequence[Event] | None
"""The events that a handler returns for publishing, if any."""


@dataclass(frozen=True, slots=True)
class Stage[**Parameters, Result: Emitted]:
    """The declaration of a stage.

    The runtime derives reading, retries, metrics, traces and dead letters from it.
    """

    name: str
    handler: Callable[Parameters, Awaitable[Result]]
    consumes: tuple[type[Event], ...]
    emits: tuple[type[Event], ...]
    concurrency: int
    batch: int | None
    """Maximum number of events per call, passed as a list. None: one event per call."""
    timeout_seconds: float
    attempts: int
    backoff_seconds: float
    may_lag: bool
    """Posts go on to be announced however far this stage is behind."""
    needs: Mapping[str, Any] = field(default_factory=dict)
    """Collaborators by name, each with its required class."""

    async def __call__(self, *args: Parameters.args, **collaborators: Parameters.kwargs) -> Result:
        """Call the plain function. For tests."""
        return await self.handler(*args, **collaborators)

    @property
    def capacity(self) -> int:
        """How many entries one process may hold: exactly as many as it can work on."""
        return self.concurrency * (self.batch or 1)

    def retry_after_seconds(self, deliveries: int) -> float:
        """Return the pause after the n-th failure of an entry, before jitter."""
        return float(min(self.backoff_seconds * 2 ** (deliveries - 1), 600.0))


type AnyStage = Stage[..., Any]


class DeclareStage(Protocol):
    """Turns a handler into a stage that keeps its types."""

    def __call__[**Parameters, Result: Emitted](
        self, handler: Callable[Parameters, Awaitable[Result]]
    ) -> Stage[Parameters, Result]: ...


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
    """Declare a stage.

    The function's name becomes that of the consumer group, the metrics and the dead letters.
    """

    def declare[**Parameters, Result: Emitted](
        handler: Callable[Parameters, Awaitable[Result]],
    ) -> Stage[Parameters, Result]:
        hints = get_type_hints(handler)
        keyword_only = [
            name
            for name, parameter in inspect.signature(handler).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY
        ]
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
    """Select the stage's collaborators from those of the App.

    Raises CannotStart if one is missing or of the wrong class.
    """
    bound: dict[str, Any] = {}
    for name, required in declared.needs.items():
        if name not in collaborators:
            raise CannotStart(
                Reason(
                    "stage_lacks",
                    "the stage {stage} needs {name!r}, and the App has none",
                    stage=declared.name,
                    name=name,
                ),
                remedy=Reason("add_to_assembly", "Add it to assembly.py"),
            )
        if isinstance(required, type) and not isinstance(collaborators[name], required):
            why = Reason(
                "stage_needs_another",
                "the stage {stage} needs {required} as {name!r} and got {found}",
                stage=declared.name,
                name=name,
                required=required.__name__,
                found=type(collaborators[name]).__name__,
            )
            raise CannotStart(
                why, remedy=Reason("correct_assembly", "Correct assembly.py or the stage's signature")
            )
        bound[name] = collaborators[name]
    return bound


def part_of(stage: str) -> str:
    """Return the name of a stage's part in health reports."""
    return f"stage {stage}"
