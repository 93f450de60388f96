"""Messages as Telegram's schema has them: by hand, and with any content,
made from the signatures of their classes.
"""

import inspect
import typing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from random import Random
from typing import Any

from telethon.tl import types

DEEPEST = 4
PLAIN = (int, str, bool, bytes, float, datetime)


MOMENT = datetime(2026, 11, 1, tzinfo=UTC)


def make_message(**more: Any) -> Any:
    return types.Message(**{"id": 5, "peer_id": types.PeerChannel(7), "date": MOMENT, "message": "", **more})


def make_service(action: Any, **more: Any) -> Any:
    return types.MessageService(
        **{"id": 5, "peer_id": types.PeerChannel(7), "date": MOMENT, "action": action, **more}
    )


def kinds_of(prefix: str) -> list[type]:
    """Every class of the layer whose name begins so, except those that only a client sends."""
    return [
        kind
        for name, kind in sorted(vars(types).items())
        if name.startswith(prefix) and inspect.isclass(kind)
    ]


@dataclass(frozen=True)
class Field:
    """One argument of a constructor: any of these kinds, or a list of them."""

    name: str
    kinds: list[type]
    is_list: bool
    optional: bool


@cache
def fields_of(kind: Any) -> tuple[Field, ...]:
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    return tuple(
        _field(parameter.name, parameter.annotation, parameter.default)
        for parameter in parameters
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    )


def _field(name: str, annotation: Any, default: Any) -> Field:
    wanted = _resolve(annotation)
    if type(None) in typing.get_args(wanted):
        others = tuple(argument for argument in typing.get_args(wanted) if argument is not type(None))
        wanted = _resolve(typing.Union[others])  # noqa: UP007 -- made while running
    is_list = typing.get_origin(wanted) is list
    if is_list:
        wanted = _resolve(typing.get_args(wanted)[0])
    kinds = list(typing.get_args(wanted)) or [wanted]
    received = [kind for kind in kinds if not kind.__name__.startswith("Input")]
    return Field(name, received or kinds, is_list, optional=default is None)


def _resolve(annotation: Any) -> Any:
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", None)
    return (
        annotation
        if name is None
        else getattr(types, name, None) or getattr(types.messages, name.removeprefix("Type"))
    )


def _shallow(kinds: list[type]) -> list[type]:
    """Those that need no other object, so that making ends."""
    return [
        kind
        for kind in kinds
        if all(field.optional or field.is_list or field.kinds[0] in PLAIN for field in fields_of(kind))
    ] or kinds


@dataclass(frozen=True)
class Maker:
    """Makes objects with what strings and floats it is given; the rest follows from chance."""

    chance: Random
    strings: tuple[str, ...]
    floats: tuple[float, ...] = (0.5, -12.25)
    everything: bool = False
    """Leaves nothing out that may be left out, as far as it is not too deep."""

    def message(self, **fixed: Any) -> Any:
        """A post with any headers, whose media and entities are those of the schema."""
        usual = {"id": 5, "peer_id": types.PeerChannel(7), "date": MOMENT, "action": None}
        return self.make(types.Message, **{**usual, **fixed})

    def make(self, kind: type, depth: int = 0, **fixed: Any) -> Any:
        given = {
            field.name: self._field(field, depth + 1) for field in fields_of(kind) if field.name not in fixed
        }
        return kind(**given, **fixed)

    def _field(self, field: Field, depth: int) -> Any:
        if field.optional and (depth > DEEPEST or not (self.everything or self.chance.random() < 0.5)):
            return None
        if field.is_list:
            few = 0 if depth > DEEPEST else 1 if self.everything else self.chance.randrange(3)
            return [self._one_of(field.kinds, depth) for _ in range(few)]
        return self._one_of(field.kinds, depth)

    def _one_of(self, kinds: list[type], depth: int) -> Any:
        if kinds[0] in PLAIN:
            return self._plain(kinds[0])
        return self.make(self.chance.choice(_shallow(kinds) if depth > DEEPEST else kinds), depth)

    def _plain(self, wanted: type) -> Any:
        match wanted.__name__:
            case "int":
                return self.chance.choice((0, 1, -1, 2**31 - 1, self.chance.randrange(2**31)))
            case "bool":
                return self.everything or self.chance.random() < 0.5
            case "str":
                return self.chance.choice(self.strings)
            case "float":
                return self.chance.choice(self.floats)
            case "bytes":
                return self.chance.randbytes(3)
        return datetime.fromtimestamp(self.chance.randrange(2**31), UTC)
