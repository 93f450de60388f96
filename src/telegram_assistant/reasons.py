"""Reasons: why something is refused or has to wait, as a code and parameters.

    raise Missing(Reason("tag_unknown", "there is no tag {tag!r}", tag=tag))

`str` puts a reason into English, for logs. Interfaces put it into the reader's language: translation.py.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from string import Formatter
from typing import Any, Self, overload

MAX_ERROR_LENGTH = 300

type Parameter = str | int | float | datetime | Reason
type JsonParameter = str | int | float | Mapping[str, JsonParameter]


@dataclass(frozen=True, slots=True, init=False)
class Reason:
    """A reason. `code` is for programs and has one `text`, an English template that names the parameters.

    A reason about a number has a `plural`; its parameter `count` chooses between both.
    """

    code: str
    text: str
    plural: str
    parameters: Mapping[str, Parameter] = field(hash=False)

    def __init__(self, code: str, text: str, plural: str = "", /, **parameters: Parameter) -> None:
        for name, value in (("code", code), ("text", text), ("plural", plural), ("parameters", parameters)):
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        return Wording().vformat(
            self.plural if self.plural and self.parameters["count"] != 1 else self.text, (), self.parameters
        )

    def as_json(self) -> dict[str, JsonParameter]:
        """Times become text; a reason among the parameters becomes an object."""
        plural = {"plural": self.plural} if self.plural else {}
        return {
            "code": self.code,
            "text": self.text,
            **plural,
            "parameters": {name: _as_json(value) for name, value in self.parameters.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Reads what `as_json` has written; times stay text."""
        parameters = {
            name: cls.from_json(value) if isinstance(value, dict) else value
            for name, value in data["parameters"].items()
        }
        return cls(data["code"], data["text"], data.get("plural", ""), **parameters)


def _as_json(value: Parameter) -> JsonParameter:
    match value:
        case Reason():
            return value.as_json()
        case datetime():
            return value.isoformat()
        case _:
            return value


WRITTEN_BY_THE_DATABASE = {
    "the tenant is suspended": Reason("tenant_is_suspended", "the tenant is suspended"),
    "the person who made this receiver is no longer a member": Reason(
        "receiver_creator_left", "the person who made this receiver is no longer a member"
    ),
}
"""Sentences that functions of the schema store."""


def quote(words: str) -> Reason:
    """A reason in the words of a person or of another program, shown as they are."""
    return Reason("quoted", "{words}", words=words)


def describe_bug(error: Exception) -> Reason:
    """The reason of an error that nobody expected."""
    return Reason(
        "unexpected_error",
        "an unexpected error ({error})",
        error=f"{type(error).__name__}: {error}"[:MAX_ERROR_LENGTH],
    )


def dump_reason(reason: Reason | None) -> str | None:
    """The reason as text to store."""
    return None if reason is None else json.dumps(reason.as_json())


@overload
def load_reason(stored: str) -> Reason: ...
@overload
def load_reason(stored: str | None) -> Reason | None: ...
def load_reason(stored: str | None) -> Reason | None:
    """Reads a stored reason. Text that is no reason is quoted: a person or an earlier release wrote it."""
    if stored is None:
        return None
    try:
        return Reason.from_json(json.loads(stored))
    except (ValueError, TypeError, KeyError, AttributeError):
        return WRITTEN_BY_THE_DATABASE.get(stored) or quote(stored)


class Wording(Formatter):
    """Puts parameters into a template. A template can name them, and not reach into them."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        del args  # templates name their parameters
        return kwargs[field_name], field_name

    def format_field(self, value: Parameter, format_spec: str) -> str:
        return (
            value.isoformat()
            if isinstance(value, datetime) and not format_spec
            else format(value, format_spec)
        )
