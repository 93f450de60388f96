"""Public links: what they show, and how long."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

MIN_DAYS, USUAL_DAYS, MAX_DAYS = 1, 7, 90
TOKEN_PREFIX = "share_"  # noqa: S105 -- not a secret


class PublicLinkKind(StrEnum):
    """The kind of content that a public link shows."""

    STORY = "story"
    DIGEST = "digest"


@dataclass(frozen=True, slots=True)
class PublicLink:
    """A link, without its secret."""

    link_id: UUID
    kind: PublicLinkKind
    subject: str
    """The id of a post of the story, or of the digest."""
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class FoundLink:
    """The target of a working link. The link shows only what its maker may see."""

    tenant_id: TenantId
    user_id: UserId
    kind: PublicLinkKind
    subject: str
    expires_at: datetime


def link_lifetime(days: int) -> timedelta:
    """Raises Rejected for a number of days that no link may have."""
    if not MIN_DAYS <= days <= MAX_DAYS:
        raise Rejected(
            Reason(
                "link_days_wrong",
                "a public link works for {shortest} to {longest} days",
                shortest=MIN_DAYS,
                longest=MAX_DAYS,
            )
        )
    return timedelta(days=days)
