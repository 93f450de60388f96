"""An alert as programs get it: in answers of the API, in webhooks, in the JSON of commands."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel

from telegram_assistant.domain.watches.watch import AlertKind, AlertSeverity
from telegram_assistant.features.watches.alerts import link_of_alert
from telegram_assistant.stores.postgres.watches.alerts import Alert


class AlertResponse(BaseModel, frozen=True):
    """An alert.

    `channel` and `text` are empty if the tenant does not see them any more; a silence has no post.
    """

    alert_id: UUID
    watch_id: UUID
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
    link: str
    text: str


def alert_response(alert: Alert) -> AlertResponse:
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
        link=link_of_alert(alert),
        text=alert.text,
    )
