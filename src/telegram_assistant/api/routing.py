"""How an endpoint is declared: nothing that a reader of the documentation needs can be left out.

An area is a file of endpoints that belong together; an endpoint is one function that calls one feature:

    area = Area("Feed", "What is new.")

    @area.get("/feed", scope=Scope.READ, example=EXAMPLE)
    async def get_feed(ask: Ask, limit: Limit = 50) -> FeedShown:
        \"\"\"The first line is its summary.

        The rest is its description.
        \"\"\"

The function's name is its operationId.
"""

from collections.abc import Awaitable, Callable, Collection
from http import HTTPStatus
from inspect import getdoc
from typing import Any, Protocol

from fastapi import APIRouter, Depends, Security
from fastapi.security import HTTPBearer
from starlette.requests import Request

from telegram_assistant.api.problems import MEDIA_TYPE, TITLES
from telegram_assistant.domain.tenants.access import Caller, KeyScope
from telegram_assistant.errors import Forbidden

type Endpoint = Callable[..., Awaitable[Any]]


class Declaration(Protocol):
    """Declares an endpoint, and gives it back as it is."""

    def __call__[E: Endpoint](self, endpoint: E, /) -> E: ...


KEY = HTTPBearer(scheme_name="key", description="A key made with `tga keys create`, or OPERATOR_KEY.", auto_error=False)
ALWAYS = (401, 403, 422, 429, 500, 503)
WAITS = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "string", "pattern": "^[0-9]+$"}}}
IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Any text of yours, new for each change. Who repeats a request with it within a day gets the same answer; nothing changes twice.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
    "example": "2026-11-15-follow-1",
}


class Area:
    """Endpoints that belong together."""

    def __init__(self, name: str, about: str) -> None:
        self.name, self.about = name, about
        self.router = APIRouter(tags=[name])

    def get(self, path: str, *, scope: KeyScope, example: object, also: Collection[int] = ()) -> Declaration:
        """`also`: further statuses that it may answer with."""
        return self._declared("GET", path, scope=scope, example=example, status=200, also=also)

    def post(
        self, path: str, *, scope: KeyScope, example: object, status: int = 200, also: Collection[int] = (), is_secret: bool = False
    ) -> Declaration:
        """`is_secret`: its answer is shown once and kept nowhere."""
        return self._declared("POST", path, scope=scope, example=example, status=status, also=also, is_secret=is_secret)

    def put(self, path: str, *, scope: KeyScope, example: object, status: int = 200, also: Collection[int] = ()) -> Declaration:
        return self._declared("PUT", path, scope=scope, example=example, status=status, also=also)

    def patch(self, path: str, *, scope: KeyScope, example: object, also: Collection[int] = ()) -> Declaration:
        return self._declared("PATCH", path, scope=scope, example=example, status=200, also=also)

    def delete(self, path: str, *, scope: KeyScope, also: Collection[int] = ()) -> Declaration:
        return self._declared("DELETE", path, scope=scope, example=None, status=204, also=also)

    def _declared(
        self, method: str, path: str, *, scope: KeyScope, example: object, status: int, also: Collection[int], is_secret: bool = False
    ) -> Declaration:
        changes = method != "GET"
        refusals = {*ALWAYS, *also, *((404,) if "{" in path else ()), *((400, 408, 409, 413) if changes else ())}
        answer: dict[str, Any] = {"description": HTTPStatus(status).phrase}
        if example is not None:
            answer["content"] = {"application/json": {"example": example}}

        def declare[E: Endpoint](endpoint: E, /) -> E:
            summary, _, description = (getdoc(endpoint) or "").partition("\n\n")
            self.router.add_api_route(
                path,
                endpoint,
                methods=[method],
                status_code=status,
                operation_id=endpoint.__name__,
                summary=summary.removesuffix("."),
                description=f"{description}\n\nNeeds the scope `{scope}`.".strip(),
                dependencies=[Depends(_requires(scope)), Security(KEY)],
                responses={status: answer, **{refusal: _refusal(refusal) for refusal in sorted(refusals)}},
                openapi_extra={"x-scope": scope.value, "x-is-secret": is_secret} | ({"parameters": [IDEMPOTENCY]} if changes else {}),
            )
            return endpoint

        return declare


def _refusal(status: int) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    refusal: dict[str, Any] = {"description": TITLES[status], "content": {MEDIA_TYPE: {"schema": schema}}}
    return refusal | ({"headers": WAITS} if status in {429, 503} else {})


def _requires(scope: KeyScope) -> Callable[[Request], Awaitable[None]]:
    async def check(request: Request) -> None:
        caller: Caller = request.scope["caller"]
        if scope not in caller.scopes:
            raise Forbidden(f"this needs a key with the scope `{scope}`; yours has: {', '.join(sorted(caller.scopes)) or 'none'}")

    return check
