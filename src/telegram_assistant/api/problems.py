"""Problem details (RFC 9457): the one place that turns exceptions into HTTP responses."""

import json
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.config import JsonDict
from starlette.exceptions import HTTPException
from starlette.responses import Response

from telegram_assistant.errors import Busy, Conflicting, Forbidden, Missing, Rejected

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
"""Listed in one response; the others are only counted, so that a request with many errors does not get a huge response."""
MAX_WHERE_CHARACTERS = 100
MAX_WHY_CHARACTERS = 300
SAID_IN_DETAIL = 5
DETAILS = {404: "There is nothing at this path.", 405: "This path does not support this method; the `Allow` header lists the supported ones."}


EXAMPLE: JsonDict = {
    "type": "about:blank",
    "title": "Not Found",
    "status": 404,
    "detail": "you do not follow channel 5",
}


class WrongField(BaseModel):
    """One invalid part of a request."""

    where: str = Field(description="The part of the request, like `query.limit` or `body.folder`.")
    why: str = Field(description="What is wrong with it.")


class Problem(BaseModel):
    """An error (RFC 9457). `detail` says what happened and what to do."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[WrongField] | None = Field(default=None, description=f"The invalid parts of the request, at most {MAX_ERRORS} of them.")
    more_errors: int | None = Field(default=None, description="How many more errors there are than `errors` lists.")
    trace_id: str | None = Field(default=None, description="Identifies the request in the logs.")


def problem(
    status: int,
    title: str,
    detail: str,
    *,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, str]] | None = None,
    more_errors: int = 0,
    trace_id: str | None = None,
) -> Response:
    body: dict[str, object] = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    body |= {"errors": list(errors)} if errors else {}
    body |= {"more_errors": more_errors} if more_errors else {}
    body |= {"trace_id": trace_id} if trace_id else {}
    known = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    # json.dumps writes ASCII, so any text that a client has sent can be quoted, even a lone surrogate.
    return Response(json.dumps(body), status, {**known, **(headers or {})}, MEDIA_TYPE)


def problem_from(error: Exception, *, trace_id: str | None = None) -> Response:  # noqa: PLR0911 -- one for each verdict
    """Returns the response for an exception."""
    match error:
        case RequestValidationError() | ValidationError():
            return _invalid(error)
        case HTTPException():
            title = TITLES.get(error.status_code, HTTPStatus(error.status_code).phrase)
            return problem(error.status_code, title, DETAILS.get(error.status_code, str(error.detail)), headers=error.headers)
        case Busy():
            return service_unavailable(f"{error}; try again in a moment.", seconds=error.retry_after_seconds, trace_id=trace_id)
        case Missing():
            return problem(404, TITLES[404], str(error))
        case Forbidden():
            return problem(403, TITLES[403], str(error))
        case Conflicting():
            wait = getattr(error, "retry_after_seconds", None)
            return problem(409, TITLES[409], str(error), headers=None if wait is None else retry_after(wait))
        case Rejected():
            return problem(422, TITLES[422], str(error))
        case _:
            return problem(500, TITLES[500], "An internal error occurred and was logged. Quote the trace_id when you report it.", trace_id=trace_id)


def _invalid(error: RequestValidationError | ValidationError) -> Response:
    """Says where and why, and never repeats the sent value."""
    found = error.errors()
    errors = [
        {"where": ".".join(map(str, one["loc"]))[:MAX_WHERE_CHARACTERS], "why": str(one["msg"])[:MAX_WHY_CHARACTERS]} for one in found[:MAX_ERRORS]
    ]
    detail = "; ".join(f"{one['where']}: {one['why']}" for one in errors[:SAID_IN_DETAIL])
    return problem(422, TITLES[422], detail, errors=errors, more_errors=len(found) - len(errors))


def service_unavailable(why: str, *, seconds: float, trace_id: str | None = None) -> Response:
    return problem(503, TITLES[503], why, headers=retry_after(seconds), trace_id=trace_id)


def retry_after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
