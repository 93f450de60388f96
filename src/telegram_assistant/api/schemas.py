"""Types that requests and responses of all areas share: ids, pages, cursors."""

import base64
import binascii
from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic_core import to_json

from telegram_assistant.domain.timestamps import MomentCursor, micros, moment
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import check_zone

MAX_ID = 2**63 - 1
MAX_PAGE = 200
MAX_FIELDS = 100
"""Per object in a request.

No request needs more, and each unknown field would be one more error in the response.
"""

ChannelNumber = Annotated[
    int, Path(ge=1, le=MAX_ID, description="Telegram's id of the channel.", examples=[1234567890])
]
MessageNumber = Annotated[
    int, Path(ge=1, le=MAX_ID, description="Id of the message in its channel.", examples=[42])
]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="Maximum number of items in the page.")]
CursorText = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=400,
        pattern="^[A-Za-z0-9_-]+$",
        description="`next` of the previous page; leave it out for the first page.",
    ),
]
Storable = Annotated[str, Field(pattern=r"^[^\x00]*$")]
"""Text without NUL, which PostgreSQL cannot store."""
Micros = Annotated[int, Field(ge=0, le=4_102_444_800_000_000)]
"""A time inside a cursor: microseconds since 1970, until 2100."""
FIRST_YEAR, LAST_YEAR = 1970, 2100


def _check_year(moment: datetime) -> datetime:
    if not FIRST_YEAR < moment.year < LAST_YEAR:
        raise ValueError(f"the time must lie between {FIRST_YEAR} and {LAST_YEAR}")
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_check_year)]
"""A time with its time zone, between 1970 and 2100."""
Zone = Annotated[
    Storable,
    AfterValidator(check_zone),
    Query(max_length=64, description="Time zone of the days in the query.", examples=["Europe/Moscow"]),
]
Id = Annotated[int, Field(ge=1, le=MAX_ID)]
MOMENT_CURSOR = TypeAdapter(tuple[Micros, UUID])


class RequestModel(BaseModel):
    """A request body; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _limit_fields(cls, value: object) -> object:
        if isinstance(value, dict) and len(value) > MAX_FIELDS:
            raise ValueError(f"an object may have at most {MAX_FIELDS} fields")
        return value


class ResponseModel(BaseModel):
    """A response body, or a part of one."""

    model_config = ConfigDict(frozen=True)


class PostReferenceResponse(ResponseModel):
    """A post by its ids, with its channel and link. Subclasses add what they say about it."""

    post_id: str
    channel_id: int
    message_id: int
    channel: str
    link: str
    posted_at: datetime


class PageResponse(ResponseModel):
    """One page of a list. Subclasses declare `items`."""

    next: str | None = Field(
        description="Send it as `cursor` to get the next page; null: this is the last page."
    )


def write_cursor(*parts: int | str) -> str:
    """Encodes the position where a page ends as an opaque cursor."""
    return base64.urlsafe_b64encode(to_json(parts)).decode().rstrip("=")


def write_moment_cursor(cursor: MomentCursor | None) -> str | None:
    return None if cursor is None else write_cursor(micros(cursor.at), str(cursor.item_id))


def read_moment_cursor(text: str | None) -> MomentCursor | None:
    """Decodes a cursor made by `write_moment_cursor`. Raises Rejected if it is not valid."""
    position = read_cursor(text, MOMENT_CURSOR)
    return None if position is None else MomentCursor(moment(position[0]), position[1])


def read_cursor[T](text: str | None, kind: TypeAdapter[T]) -> T | None:
    """Decodes a cursor made by `write_cursor`. Raises Rejected if it is not valid."""
    if text is None:
        return None
    try:
        return kind.validate_json(
            base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True), strict=False
        )
    except (ValidationError, binascii.Error) as error:
        raise Rejected(
            Reason(
                "cursor_invalid", "the cursor is not valid; send `next` of the previous page, or leave it out"
            )
        ) from error
