"""What went wrong, for people and programs (RFC 9457): the one place that turns errors into answers."""

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
"""As RFC 9110 names them. `detail` says in plain words what happened and what to do."""
MAX_ERRORS = 20
"""Listed in one answer; the others are counted. A request of many mistakes gets no large answer."""
MAX_WHERE_CHARACTERS = 100
MAX_WHY_CHARACTERS = 300
SAID_IN_DETAIL = 5
DETAILS = {404: "There is nothing at this address.", 405: "This address does not know the method; `Allow` lists those it knows."}


EXAMPLE: JsonDict = {
    "type": "about:blank",
    "title": "Not Found",
    "status": 404,
    "detail": "you follow no channel 5",
}


class WrongField(BaseModel):
    """One thing that is wrong with a request."""

    where: str = Field(description="Like `query.limit` or `body.folder`.")
    why: str


class Problem(BaseModel):
    """What went wrong. `detail` says what to do about it."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[WrongField] | None = Field(default=None, description=f"What is wrong with which part of the request; at most {MAX_ERRORS}.")
    more_errors: int | None = Field(default=None, description="How many more mistakes there are than `errors` lists.")
    trace_id: str | None = Field(default=None, description="For whoever looks into the logs.")


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
    told: dict[str, object] = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    told |= {"errors": list(errors)} if errors else {}
    told |= {"more_errors": more_errors} if more_errors else {}
    told |= {"trace_id": trace_id} if trace_id else {}
    known = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else {}
    # Plain ASCII: whatever strangers have sent, half a character included, can be told.
    return Response(json.dumps(told), status, {**known, **(headers or {})}, MEDIA_TYPE)


def problem_from(error: Exception, *, trace_id: str | None = None) -> Response:  # noqa: PLR0911 -- one for each verdict
    """The answer to whoever caused the error, or only met it."""
    match error:
        case RequestValidationError() | ValidationError():
            return _invalid(error)
        case HTTPException():
            title = TITLES.get(error.status_code, HTTPStatus(error.status_code).phrase)
            return problem(error.status_code, title, DETAILS.get(error.status_code, str(error.detail)), headers=error.headers)
        case Busy():
            return later(f"{error}; try again in a moment.", seconds=error.retry_after_seconds, trace_id=trace_id)
        case Missing():
            return problem(404, TITLES[404], str(error))
        case Forbidden():
            return problem(403, TITLES[403], str(error))
        case Conflicting():
            wait = getattr(error, "retry_after_seconds", None)
            return problem(409, TITLES[409], str(error), headers=None if wait is None else waiting(wait))
        case Rejected():
            return problem(422, TITLES[422], str(error))
        case _:
            return problem(500, TITLES[500], "It was noted, and is not your fault. Name the trace_id when you report it.", trace_id=trace_id)


def _invalid(error: RequestValidationError | ValidationError) -> Response:
    """Says where and why, never what was sent."""
    found = error.errors()
    errors = [
        {"where": ".".join(map(str, one["loc"]))[:MAX_WHERE_CHARACTERS], "why": str(one["msg"])[:MAX_WHY_CHARACTERS]} for one in found[:MAX_ERRORS]
    ]
    detail = "; ".join(f"{one['where']}: {one['why']}" for one in errors[:SAID_IN_DETAIL])
    return problem(422, TITLES[422], detail, errors=errors, more_errors=len(found) - len(errors))


def later(why: str, *, seconds: float, trace_id: str | None = None) -> Response:
    return problem(503, TITLES[503], why, headers=waiting(seconds), trace_id=trace_id)


def waiting(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
