"""The expected outputs of models, and their validation: JSON of a known shape, nothing else."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from telegram_assistant.domain.posts.language import language_of
from telegram_assistant.domain.understanding.policy import Failure, PostSort, ProviderFailed
from telegram_assistant.domain.understanding.vocabulary import (
    MAX_PROPOSALS,
    MAX_TAGS,
    Vocabulary,
    language_for,
    tag_in,
)

MAX_CHARACTERS = 100_000
LEAKED_WORDS = 8
"""This many words of the prompt in a row count as a leak."""
_JSON = re.compile(r"\{.*\}", re.DOTALL)
_WORD = re.compile(r"\w+")


class Output(BaseModel):
    """The base of all outputs of models. Unknown fields are dropped."""

    model_config = ConfigDict(frozen=True, extra="ignore", str_strip_whitespace=True)


class EntityKind(StrEnum):
    """The kind of a named entity."""

    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"


class NamedEntity(Output):
    """A name as it stands in the text."""

    text: str = Field(min_length=1, max_length=100)
    kind: EntityKind


def _sort_or_none(value: object) -> object:
    return value if isinstance(value, str) and value in set(PostSort) else None


class Tags(Output):
    """The tags, topic, sort and names of a post. `within` drops those that a provider has made up."""

    tags: tuple[str, ...] = Field(max_length=50)
    topic: str = Field(default="", max_length=100)
    kind: Annotated[PostSort | None, BeforeValidator(_sort_or_none)] = None
    entities: tuple[NamedEntity, ...] = Field(default=(), max_length=50)
    proposed: tuple[str, ...] = Field(default=(), max_length=20)
    """Tags that the vocabulary lacks."""
    language: str | None = None
    is_ad: bool = False
    channel_id: SkipJsonSchema[int | None] = None
    """The channel whose text was sent to the provider; set by us, not by the model."""

    def without_sort(self) -> "Tags":
        """The tags for a copy in another channel: the first channel to copy a text
        must not decide that the original is advertising.
        """
        return self.model_copy(update={"kind": None, "is_ad": False})

    def within(self, vocabulary: Vocabulary, text: str) -> "Tags":
        """Keeps only existing tags and topics, and names that occur in the text.

        The language is detected here, not by the model.
        """
        language = language_for(text)
        own_tags = vocabulary.tags_of(language)
        tags = tuple(dict.fromkeys(tag for name in self.tags if (tag := name.casefold()) in own_tags))[
            :MAX_TAGS
        ]
        topics = [own_tags[tag] for tag in tags]
        spelled_tags = [
            spelled_tags
            for name in (*self.proposed, *self.tags)
            if (spelled_tags := tag_in(name)) is not None
        ]
        proposed_tags = dict.fromkeys(
            tag for tag in spelled_tags if tag not in own_tags and tag in text.casefold()
        )
        return Tags(
            tags=tags,
            topic=self.topic
            if self.topic in vocabulary.topics
            else max(topics, key=topics.count, default=""),
            kind=self.kind or PostSort.NEWS,
            entities=tuple(entity for entity in self.entities if entity.text in text),
            proposed=tuple(proposed_tags)[:MAX_PROPOSALS],
            language=language_of(text),
            is_ad=self.is_ad or self.kind is PostSort.ADVERTISING,
            channel_id=self.channel_id,
        )


def _storable(max_length: int) -> AfterValidator:
    """Truncates the text and removes characters that PostgreSQL cannot store."""
    return AfterValidator(lambda text: text.replace("\x00", "")[:max_length])


class PictureFacts(Output):
    """The description of a picture, and the text that is written in it."""

    description: Annotated[str, _storable(2000)] = ""
    text: Annotated[str, _storable(10_000)] = ""
    is_meme: bool = False
    is_document: bool = False


class Prose(Output):
    """Plain text: sentences that code checks afterwards, one by one."""

    text: Annotated[str, _storable(20_000)]


def parse[T: Output](shape: type[T], answer: str, *, prompt: str) -> T:
    """Parses an answer.

    Raises ProviderFailed(UNUSABLE) for another shape, and for an answer that repeats `prompt`, the prompt.
    """
    if issubclass(shape, Prose):
        return _not_leaking(shape(text=answer[:MAX_CHARACTERS]), prompt)
    match = _JSON.search(answer[:MAX_CHARACTERS])
    if match is None:
        raise ProviderFailed(Failure.UNUSABLE, "the answer holds no JSON object")
    try:
        parsed_output = shape.model_validate_json(match.group())
    except ValidationError as error:
        problem_list = "; ".join(
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in error.errors(include_input=False)[:5]
        )
        raise ProviderFailed(Failure.UNUSABLE, problem_list[:500]) from error
    return _not_leaking(parsed_output, prompt)


def _not_leaking[T: Output](parsed_output: T, instruction: str) -> T:
    if leaks(" ".join(_strings(parsed_output.model_dump())), instruction):
        raise ProviderFailed(Failure.UNUSABLE, "the answer repeats its instructions")
    return parsed_output


def leaks(answer: str, instruction: str) -> bool:
    """Whether the answer contains eight consecutive words of the prompt."""
    secret = set(_runs(instruction))
    return any(run in secret for run in _runs(answer))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return zip(*(words[start:] for start in range(LEAKED_WORDS)), strict=False)
