"""What the ingest role answers beside health and metrics: how planning goes, and reading a channel at once."""

from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from telegram_assistant.api.status import Pages, has_key, problem
from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.parsing import Mode
from telegram_assistant.domain.priority import Priority
from telegram_assistant.errors import Busy
from telegram_assistant.ingest.tick import PART, scheduler_status
from telegram_assistant.stores.redis.scheduler import SchedulerLock
from telegram_assistant.telemetry.health import Fact


class PollWish(BaseModel):
    """How a channel shall be read. High priority: before all others."""

    model_config = ConfigDict(extra="forbid")

    mode: Mode | None = None
    priority: Priority = Priority.NORMAL


def ingest_pages(app: App) -> Pages:
    lock = SchedulerLock(app.redis, app.instance)

    async def scheduler() -> Mapping[str, Fact]:
        parser = app.settings.parser
        found = await scheduler_status(lock=lock, planning=app.system.planning, settings=parser, now=datetime.now(UTC))
        return found.as_json(parser.interval_seconds)

    async def poll(request: Request) -> Response:
        if not has_key(request, app.settings.http.operator_key):
            return problem(401, "Only for the operator", "Send `Authorization: Bearer` with the value of OPERATOR_KEY.")
        try:
            wish = PollWish.model_validate_json(await request.body() or b"{}")
        except ValidationError as error:
            return problem(422, "The request makes no sense", "; ".join(str(one["msg"]) for one in error.errors()))
        channel_id = ChannelId(request.path_params["channel_id"])
        try:
            known = await app.system.schedule.ask(channel_id, mode=wish.mode, first=wish.priority is Priority.HIGH)
        except Busy as busy:
            return problem(503, "Not now", f"{busy}; try again in a moment.")
        if not known:
            return problem(404, "No such channel", f"Nobody follows a channel {channel_id}.")
        return JSONResponse({"channel_id": channel_id, "status": "asked for"}, status_code=202)

    return Pages({PART: scheduler}, (Route("/api/v1/channels/{channel_id:int}/poll", poll, methods=["POST"]),))
