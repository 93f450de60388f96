"""What models are asked to answer with, and checking that they did: JSON of a known shape, nothing else."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from telegram_assistant.domain.understanding import Failure
from telegram_assistant.errors import ProviderFailed

MOST_CHARACTERS = 100_000
LEAKED_WORDS = 8
"""So many words of ours in a row are no accident."""
_JSON = re.compile(r"\{.*\}", re.DOTALL)
_WORD = re.compile(r"\w+")


class Output(BaseModel):
    """What came from a model; unknown fields are dropped."""

    model_config = ConfigDict(frozen=True, extra="ignore", str_strip_whitespace=True)


class EntityKind(StrEnum):
    """What is named."""

    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"


class Entity(Output):
    """A name as it stands in the text."""

    text: str = Field(min_length=1, max_length=100)
    kind: EntityKind


class Tags(Output):
    """What a text is about. From a provider only tags of the vocabulary survive; see `within`."""

    tags: tuple[str, ...] = Field(max_length=50)
    entities: tuple[Entity, ...] = Field(default=(), max_length=50)

    def within(self, vocabulary: Sequence[str], text: str, *, most: int = 5) -> "Tags":
        """Tags that exist, spelled as ours, and names that really stand in the text."""
        known = {tag.casefold(): tag for tag in vocabulary}
        kept = dict.fromkeys(known[tag.casefold()] for tag in self.tags if tag.casefold() in known)
        return Tags(tags=tuple(kept)[:most], entities=tuple(entity for entity in self.entities if entity.text in text))


class PictureFacts(Output):
    """What a picture shows, and what is written in it."""

    description: str = Field(default="", max_length=2000)
    text: str = Field(default="", max_length=10_000)


def parse[T: Output](shape: type[T], said: str, *, ours: str) -> T:
    """The answer as its shape. ProviderFailed(UNUSABLE) for anything else, and for an answer that repeats `ours`, the prompt."""
    found = _JSON.search(said[:MOST_CHARACTERS])
    if found is None:
        raise ProviderFailed(Failure.UNUSABLE, "the answer holds no JSON object")
    try:
        parsed = shape.model_validate_json(found.group())
    except ValidationError as error:
        places = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_input=False)[:5])
        raise ProviderFailed(Failure.UNUSABLE, places[:500]) from error
    if leaks(" ".join(_strings(parsed.model_dump())), ours):
        raise ProviderFailed(Failure.UNUSABLE, "the answer repeats its instructions")
    return parsed


def leaks(said: str, ours: str) -> bool:
    """Whether eight words of the prompt stand in the answer in the same order."""
    secret = set(_runs(ours))
    return any(run in secret for run in _runs(said))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return zip(*(words[start:] for start in range(LEAKED_WORDS)), strict=False)
