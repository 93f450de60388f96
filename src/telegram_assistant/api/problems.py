"""Problem details (RFC 9457): the one place that turns exceptions into HTTP responses."""

import json
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.config import JsonDict
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from telegram_assistant.errors import Busy, Conflicting, Forbidden, Missing, Rejected, Throttled
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.translation import ENGLISH, language_of_header, translate

MEDIA_TYPE = "application/problem+json"
TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    413: "Content Too Large",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
"""Reason phrases of RFC 9110. `detail` says what happened and what to do."""
MAX_ERRORS = 20
"""Listed in one response; the others are only counted,
so that a request with many errors does not get a huge response.
"""
MAX_WHERE_CHARACTERS = 100
MAX_WHY_CHARACTERS = 300
SAID_IN_DETAIL = 5
REASONS = {
    404: Reason("path_unknown", "There is nothing at this path."),
    405: Reason(
        "method_not_supported",
        "This path does not support this method; the `Allow` header lists the supported ones.",
    ),
}
INVALID_REQUEST = Reason("request_invalid", "the request is not valid")
INTERNAL_ERROR = Reason(
    "internal_error", "An internal error occurred and was logged. Quote the trace_id when you report it."
)


EXAMPLE: JsonDict = {
    "type": "about:blank",
    "title": "Not Found",
    "status": 404,
    "detail": "you do not follow channel 5",
    "code": "channel_not_followed_by_id",
    "parameters": {"channel_id": 5},
}


class WrongField(BaseModel):
    """One invalid part of a request."""

    where: str = Field(description="The part of the request, like `query.limit` or `body.folder`.")
    why: str = Field(description="What is wrong with it.")


class Problem(BaseModel):
    """An error (RFC 9457).

    `detail` says what happened and what to do, in the language of `Accept-Language`: en or ru.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str = Field(description="The reason, for programs.")
    parameters: dict[str, JsonValue] = Field(
        description="What `detail` names, like the id that was not found."
    )
    errors: list[WrongField] | None = Field(
        default=None, description=f"The invalid parts of the request, at most {MAX_ERRORS} of them."
    )
    more_errors: int | None = Field(
        default=None, description="How many more errors there are than `errors` lists."
    )
    trace_id: str | None = Field(default=None, description="Identifies the request in the logs.")


class ProblemResponse(Response):
    """A problem. It speaks the language that the request accepts, which is known when it is sent."""

    def __init__(
        self, status: int, detail: Reason, *, members: Mapping[str, object], headers: Mapping[str, str]
    ) -> None:
        self._head = {
            "type": "about:blank",
            "title": TITLES.get(status, HTTPStatus(status).phrase),
            "status": status,
        }
        self._detail, self._members = detail, members
        super().__init__(self._render(ENGLISH), status, dict(headers), MEDIA_TYPE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        language = language_of_header(Headers(scope=scope).get("accept-language", ""))
        self.body = self._render(language)
        self.headers.update({"Content-Length": str(len(self.body)), "Content-Language": language})
        await super().__call__(scope, receive, send)

    def _render(self, language: str) -> bytes:
        # json.dumps writes ASCII, so any text that a client has sent can be quoted, even a lone surrogate.
        return json.dumps(
            {**self._head, "detail": translate(self._detail, language), **self._members}
        ).encode()


def problem(
    status: int,
    reason: Reason,
    *,
    detail: Reason | None = None,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, str]] = (),
    more_errors: int = 0,
    trace_id: str | None = None,
) -> Response:
    """`detail` says more than the reason that programs get; by default it is the reason."""
    members: dict[str, object] = {"code": reason.code, "parameters": reason.as_json()["parameters"]}
    members |= {"errors": list(errors)} if errors else {}
    members |= {"more_errors": more_errors} if more_errors else {}
    members |= {"trace_id": trace_id} if trace_id else {}
    default_headers = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    return ProblemResponse(
        status, detail or reason, members=members, headers={**default_headers, **(headers or {})}
    )


def problem_from(error: Exception, *, trace_id: str | None = None) -> Response:
    """Returns the response for an exception."""
    match error:
        case RequestValidationError() | ValidationError():
            return _invalid(error)
        case HTTPException():
            return problem(
                error.status_code,
                REASONS.get(error.status_code, quote(str(error.detail))),
                headers=error.headers,
            )
        case Throttled():
            return problem(429, error.reason, headers=retry_after(error.retry_after_seconds))
        case Busy():
            advice = Reason("busy", "{why}; try again in a moment.", why=error.reason)
            return problem(
                503,
                error.reason,
                detail=advice,
                headers=retry_after(error.retry_after_seconds),
                trace_id=trace_id,
            )
        case Rejected():
            wait = getattr(error, "retry_after_seconds", None)
            return problem(
                _status_of(error), error.reason, headers=None if wait is None else retry_after(wait)
            )
        case _:
            return problem(500, INTERNAL_ERROR, trace_id=trace_id)


def _status_of(error: Rejected) -> int:
    match error:
        case Missing():
            return 404
        case Forbidden():
            return 403
        case Conflicting():
            return 409
        case _:
            return 422


def _invalid(error: RequestValidationError | ValidationError) -> Response:
    """Says where and why, and never repeats the sent value."""
    failures = error.errors()
    errors = [
        {
            "where": ".".join(map(str, failure["loc"]))[:MAX_WHERE_CHARACTERS],
            "why": str(failure["msg"])[:MAX_WHY_CHARACTERS],
        }
        for failure in failures[:MAX_ERRORS]
    ]
    detail = "; ".join(f"{error['where']}: {error['why']}" for error in errors[:SAID_IN_DETAIL])
    return problem(
        422, INVALID_REQUEST, detail=quote(detail), errors=errors, more_errors=len(failures) - len(errors)
    )


def retry_after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
