"""The fields that every event carries."""

from datetime import UTC, datetime
from typing import Annotated, ClassVar, Self
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from telegram_assistant.domain.ids import PostId

NAMESPACE = UUID("7b0f8c3e-6a52-5d0e-9d55-1f6f3f1c2a10")


def _iso_z(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


Moment = Annotated[datetime, PlainSerializer(_iso_z, return_type=str)]


class Event(BaseModel):
    """A fact about a post or an album.

    Fields added by a newer release survive a round trip through this one.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    NAME: ClassVar[str]
    """The name in the contract, like posts.parsed. The stream key is derived from it."""
    VERSION: ClassVar[int] = 1

    event_id: UUID
    schema_version: int = 1
    occurred_at: Moment
    tenant_id: int | None = None
    """None unless the event concerns one tenant only.

    Subscriptions decide who sees a post, at the time it is read.
    """
    channel_id: int
    post_id: str
    """`channel_id/message_id`."""
    revision: int = Field(default=1, ge=1)
    trace_id: str | None = None
    """W3C traceparent."""

    @classmethod
    def about(
        cls,
        post_id: PostId,
        revision: int,
        *,
        occurred_at: datetime,
        trace_id: str | None = None,
        trigger: str = "",
        **facts: object,
    ) -> Self:
        """Build the event about this revision of a post. The same fact always has the same id, however often
        it is published.

        Raises TypeError if the event has no such fact. Unknown fields of events that are read survive
        instead.
        """
        if unknown := facts.keys() - cls.model_fields.keys():
            raise TypeError(f"{cls.__name__} has no {', '.join(sorted(unknown))}")
        return cls.model_validate(
            {
                "event_id": event_id_of(cls.NAME, post_id, revision, trigger),
                "schema_version": cls.VERSION,
                "occurred_at": occurred_at,
                "channel_id": post_id.channel_id,
                "post_id": str(post_id),
                "revision": revision,
                "trace_id": trace_id,
                **({"trigger": trigger} if trigger else {}),
                **facts,
            }
        )

    @property
    def post(self) -> PostId:
        return PostId.parse(self.post_id)


def event_id_of(name: str, post_id: PostId, revision: int, trigger: str = "") -> UUID:
    return uuid5(NAMESPACE, f"{name}|{post_id}|{revision}|{trigger}")


def trace_of(post_id: PostId, revision: int) -> str:
    """Return the W3C traceparent of a post's revision.

    It is derived from the post, so an event published twice is one trace.
    """
    trace = event_id_of("posts.parsed", post_id, revision).hex
    return f"00-{trace}-{trace[:16]}-01"
