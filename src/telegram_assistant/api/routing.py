"""Declares endpoints. Everything that the documentation needs is a required argument.

An area is a file of related endpoints. An endpoint is one function that calls one feature:

    area = Area("Feed", "The newest posts of all followed channels.")

    @area.get("/feed", scope=KeyScope.READ, example=EXAMPLE)
    async def get_feed(context: Context, limit: Limit = 50) -> FeedResponse:
        \"\"\"The first line is the summary.

        The rest is the description.
        \"\"\"

The function's name is its operationId.
"""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from functools import wraps
from http import HTTPStatus
from inspect import getdoc
from typing import Any, Protocol

from fastapi import APIRouter, Depends, Security
from fastapi.datastructures import Default
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from telegram_assistant.api.problems import MEDIA_TYPE, TITLES
from telegram_assistant.api.request_context import RequestContext
from telegram_assistant.domain.tenants.access import Caller, KeyScope
from telegram_assistant.errors import Forbidden
from telegram_assistant.fair_queue import WorkKind
from telegram_assistant.reasons import Reason

type Endpoint = Callable[..., Awaitable[Any]]


class Declaration(Protocol):
    """A decorator that declares an endpoint and returns it unchanged."""

    def __call__[E: Endpoint](self, endpoint: E, /) -> E: ...


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


KEY = HTTPBearer(
    scheme_name="key",
    description="An API key created with `tga keys create`, or the value of OPERATOR_KEY.",
    auto_error=False,
)
COMMON_STATUSES = (401, 403, 422, 429, 500, 503)
RETRY_AFTER_HEADER = {
    "Retry-After": {
        "description": "Seconds to wait before the next request.",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
    }
}
IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": (
        "Any text that is unique per change. Repeating a request with it within a day returns the first "
        "response and changes nothing."
    ),
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "example": "2026-11-15-follow-1",
}


class Area:
    """A group of related endpoints."""

    def __init__(self, name: str, about: str) -> None:
        self.name, self.about = name, about
        self.router = APIRouter(tags=[name])

    def get(
        self,
        path: str,
        *,
        scope: KeyScope,
        example: object,
        also: Collection[int] = (),
        is_expensive: bool = False,
    ) -> Declaration:
        """`also`: further status codes that it may return.

        `is_expensive`: few of them run at once for one tenant (fair_queue.py).
        """
        return self._declare(
            "GET", path, scope=scope, example=example, status=200, also=also, is_expensive=is_expensive
        )

    def events(
        self,
        path: str,
        *,
        scope: KeyScope,
        example: object,
        data: type[BaseModel],
        is_expensive: bool = False,
    ) -> Declaration:
        """A stream of server-sent events, each of which has such `data`.

        Its place is free again when the stream begins.
        """
        return self._declare(
            "GET",
            path,
            scope=scope,
            example=example,
            status=200,
            also=(),
            data=data,
            is_expensive=is_expensive,
        )

    def post(
        self,
        path: str,
        *,
        scope: KeyScope,
        example: object,
        status: int = 200,
        also: Collection[int] = (),
        is_secret: bool = False,
        is_expensive: bool = False,
    ) -> Declaration:
        """`is_secret`: its response is returned once and never stored."""
        return self._declare(
            "POST",
            path,
            scope=scope,
            example=example,
            status=status,
            also=also,
            is_secret=is_secret,
            is_expensive=is_expensive,
        )

    def put(
        self, path: str, *, scope: KeyScope, example: object, status: int = 200, also: Collection[int] = ()
    ) -> Declaration:
        return self._declare("PUT", path, scope=scope, example=example, status=status, also=also)

    def patch(
        self, path: str, *, scope: KeyScope, example: object, also: Collection[int] = ()
    ) -> Declaration:
        return self._declare("PATCH", path, scope=scope, example=example, status=200, also=also)

    def delete(self, path: str, *, scope: KeyScope, also: Collection[int] = ()) -> Declaration:
        return self._declare("DELETE", path, scope=scope, example=None, status=204, also=also)

    def _declare(  # noqa: PLR0913 -- all that the documentation and the queues must know
        self,
        method: str,
        path: str,
        *,
        scope: KeyScope,
        example: object,
        status: int,
        also: Collection[int],
        is_secret: bool = False,
        is_expensive: bool = False,
        data: type[BaseModel] | None = None,
    ) -> Declaration:
        changes = method != "GET"
        refusals = {
            *COMMON_STATUSES,
            *also,
            *((404,) if "{" in path else ()),
            *((400, 408, 409, 413) if changes else ()),
        }
        answer: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        response_class: type[Response] = JSONResponse if data is None else EventStream
        if example is not None:
            answer["content"] = {
                response_class.media_type: {"example": example}
                | ({} if data is None else {"schema": _event_of(data)})
            }

        def declare[E: Endpoint](endpoint: E, /) -> E:
            summary, _, description = (getdoc(endpoint) or "").partition("\n\n")
            self.router.add_api_route(
                path,
                _queue_endpoint(endpoint, is_expensive=is_expensive),
                methods=[method],
                status_code=status,
                operation_id=endpoint.__name__,
                response_class=response_class,
                response_model=Default(None) if data is None else data,
                summary=summary.removesuffix("."),
                description=f"{description}\n\nNeeds the scope `{scope}`.".strip(),
                dependencies=[Depends(_requires(scope)), Security(KEY)],
                responses={status: answer, **{refusal: _refusal(refusal) for refusal in sorted(refusals)}},
                openapi_extra={"x-scope": scope.value, "x-is-secret": is_secret}
                | ({"parameters": [IDEMPOTENCY]} if changes else {}),
            )
            return endpoint

        return declare


def _queue_endpoint(endpoint: Endpoint, *, is_expensive: bool) -> Endpoint:
    """Runs the endpoint when its tenant has a place. The command line calls endpoints without a queue."""

    @wraps(endpoint)
    async def run_in_turn(*, context: RequestContext, **arguments: object) -> object:
        queue = context.app.queues[WorkKind.EXPENSIVE if is_expensive else WorkKind.ORDINARY]
        async with queue.place(context.caller.tenant_id, context.caller.queued_as) as place:
            return await endpoint(context=replace(context, place=place), **arguments)

    return run_in_turn


def _event_of(data_model: type[BaseModel]) -> dict[str, Any]:
    content = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": f"#/components/schemas/{data_model.__name__}"},
    }
    return {
        "type": "object",
        "properties": {"event": {"type": "string"}, "data": content},
        "required": ["data"],
    }


def _refusal(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    refusal: dict[str, Any] = {"description": TITLES[status], "content": {MEDIA_TYPE: {"schema": schema}}}
    return refusal | ({"headers": RETRY_AFTER_HEADER} if status in {429, 503} else {})


def _requires(scope: KeyScope) -> Callable[[Request], Awaitable[None]]:
    async def check(request: Request) -> None:
        caller: Caller = request.scope["caller"]
        if scope not in caller.scopes:
            scopes = ", ".join(sorted(caller.scopes)) or "–"
            raise Forbidden(
                Reason(
                    "scope_missing",
                    "this needs a key with the scope `{scope}`; yours has: {scopes}",
                    scope=scope,
                    scopes=scopes,
                )
            )

    return check
