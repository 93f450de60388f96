"""What requests and answers are made of, in all areas: ids, pages, cursors."""

import base64
import binascii
from datetime import datetime
from typing import Annotated

from fastapi import Path, Query
from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import to_json

from telegram_assistant.errors import Rejected
from telegram_assistant.settings import known_zone

MAX_ID = 2**63 - 1
MAX_PAGE = 200
MAX_FIELDS = 100
"""Of an object in a request. No request needs so many; each unknown one would be a mistake of its own."""

ChannelNumber = Annotated[int, Path(ge=1, le=MAX_ID, description="Telegram's own id of the channel.", examples=[1234567890])]
MessageNumber = Annotated[int, Path(ge=1, le=MAX_ID, description="The number of the message in its channel.", examples=[42])]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="So many at most.")]
CursorText = Annotated[
    str | None, Query(min_length=1, max_length=400, pattern="^[A-Za-z0-9_-]+$", description="`next` of the page before; empty for the first page.")
]
Storable = Annotated[str, Field(pattern=r"^[^\x00]*$")]
"""PostgreSQL keeps no NUL."""
Micros = Annotated[int, Field(ge=0, le=4_102_444_800_000_000)]
"""Microseconds since 1970, until 2100: a moment inside a cursor."""
FIRST_YEAR, LAST_YEAR = 1970, 2100


def _within_reason(moment: datetime) -> datetime:
    if not FIRST_YEAR < moment.year < LAST_YEAR:
        raise ValueError(f"a moment lies between {FIRST_YEAR} and {LAST_YEAR}")
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_within_reason)]
"""With its time zone, in the age of Telegram."""
Zone = Annotated[Storable, AfterValidator(known_zone), Query(max_length=64, description="Whose days are meant.", examples=["Europe/Moscow"])]
Id = Annotated[int, Field(ge=1, le=MAX_ID)]


class RequestModel(BaseModel):
    """The body of a request: what is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, given: object) -> object:
        if isinstance(given, dict) and len(given) > MAX_FIELDS:
            raise ValueError(f"an object has at most {MAX_FIELDS} fields")
        return given


class ResponseModel(BaseModel):
    """Part of an answer."""

    model_config = ConfigDict(frozen=True)


class PageResponse(ResponseModel):
    """Part of a list. Lists say `items: list[…]` themselves."""

    next: str | None = Field(description="Give it back as `cursor` for the next page; null: this is the last one.")


def cursor_text(*parts: int | str) -> str:
    """Where a page ends, as something that nobody needs to understand."""
    return base64.urlsafe_b64encode(to_json(parts)).decode().rstrip("=")


def read_cursor[T](text: str | None, kind: TypeAdapter[T]) -> T | None:
    """What cursor_text has written; Rejected when it was not ours."""
    if text is None:
        return None
    try:
        return kind.validate_json(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True), strict=False)
    except (ValidationError, binascii.Error) as error:
        raise Rejected("this cursor is none of ours; take `next` of the page before, or leave it out") from error
