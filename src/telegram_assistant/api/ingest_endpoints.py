"""HTTP endpoints of the ingest role besides health and metrics: scheduler status,
and reading a channel on demand.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import ConfigDict, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from telegram_assistant.api.bodies import read_body
from telegram_assistant.api.problems import problem_from
from telegram_assistant.api.schemas import RequestModel
from telegram_assistant.api.status import RoleEndpoints
from telegram_assistant.assembly import App
from telegram_assistant.domain.channels.parsing import Mode
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Busy, Missing
from telegram_assistant.features.channels.polling import poll_any
from telegram_assistant.ingest.scheduler import PART, scheduler_status
from telegram_assistant.stores.redis.scheduler import SchedulerLock
from telegram_assistant.telemetry.health import Fact


class PollRequest(RequestModel):
    """How to read the channel.

    With priority `high`, it is read before all others. Without `mode`, the usual rules choose one.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"mode": "incremental", "priority": "high"}]})

    mode: Mode | None = None
    priority: Priority = Priority.NORMAL

    @property
    def is_first(self) -> bool:
        """Whether the channel is read before all others."""
        return self.priority is Priority.HIGH


def ingest_role_endpoints(app: App) -> RoleEndpoints:
    """Builds what the ingest role serves besides health and metrics."""
    lock = SchedulerLock(app.redis, app.instance)

    async def scheduler() -> Mapping[str, Fact]:
        parser = app.settings.parser
        status = await scheduler_status(
            lock=lock, planning=app.system.planning, settings=parser, now=datetime.now(UTC)
        )
        return {
            **status.as_json(parser.interval_seconds),
            **({"detail": status.detail} if status.detail else {}),
        }

    async def poll(request: Request) -> Response:
        settings = app.settings
        headers = dict(request.headers.raw)
        body = await read_body(
            request.receive,
            headers,
            max_bytes=settings.api.max_bytes,
            timeout_seconds=settings.http.request_timeout_seconds,
        )
        if isinstance(body, Response):
            return body
        try:
            poll_request = PollRequest.model_validate_json(body or b"{}")
        except ValidationError as error:
            return problem_from(error)
        channel_id = ChannelId(request.path_params["channel_id"])
        try:
            await poll_any(
                channel_id, mode=poll_request.mode, first=poll_request.is_first, schedule=app.system.schedule
            )
        except (Busy, Missing) as error:
            return problem_from(error)
        return JSONResponse({"channel_id": channel_id, "status": "scheduled"}, status_code=202)

    return RoleEndpoints(
        {PART: scheduler}, (Route("/api/v1/channels/{channel_id:int}/poll", poll, methods=["POST"]),)
    )
