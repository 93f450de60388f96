"""An alert as programs get it: in answers of the API, in webhooks, in the JSON of commands."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, Field

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.watches.watch import AlertKind, AlertSeverity, WatchKind
from telegram_assistant.features.stories.shared import SharedStory
from telegram_assistant.features.watches.alerts import link_of_alert
from telegram_assistant.features.watches.inbox import make_line
from telegram_assistant.stores.postgres.watches.alerts import Alert


class AlertResponse(BaseModel, frozen=True):
    """An alert.

    `channel` and `text` are empty if the tenant does not see them any more; a silence has no post. `followed`
    is about a story that you follow: only you and the receivers of your digests get it, and it has no watch.
    """

    alert_id: UUID
    watch_id: UUID | None
    watch: str
    kind: AlertKind
    severity: AlertSeverity
    happened_at: datetime
    created_at: datetime
    seen_at: datetime | None
    seen_by: str | None
    channel_id: int
    channel: str
    post_id: str | None
    story_id: str | None = Field(description="The story of the post, if at least two channels tell it.")
    link: str
    text: str
    headline: str = ""
    """The first sentence of the text."""
    matches: tuple[str, ...] = ()
    """The words for which the watch looks, as the post writes them."""
    watch_kind: WatchKind | None = None
    watch_query: str = ""


def alert_response(alert: Alert, stories: Mapping[PostId, SharedStory]) -> AlertResponse:
    """`stories` has the stories of the posts of alerts."""
    story = None if alert.post_id is None else stories.get(alert.post_id)
    line = make_line(alert)
    return AlertResponse(
        alert_id=alert.alert_id,
        watch_id=alert.watch_id,
        watch=alert.watch,
        kind=alert.kind,
        severity=alert.severity,
        happened_at=alert.happened_at,
        created_at=alert.created_at,
        seen_at=alert.seen_at,
        seen_by=alert.seen_by,
        channel_id=alert.channel_id,
        channel=alert.channel,
        post_id=None if alert.post_id is None else str(alert.post_id),
        story_id=None if story is None else str(story.story_id),
        link=link_of_alert(alert),
        text=alert.text,
        headline=line.headline.text,
        matches=line.matches,
        watch_kind=alert.watch_kind,
        watch_query=alert.watch_query,
    )
