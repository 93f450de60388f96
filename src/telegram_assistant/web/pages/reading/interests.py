"""What interests a person: a list to read and edit."""

from starlette.responses import Response

from telegram_assistant.domain.people.interests import MAX_WEIGHT, OWN_WEIGHT, Feedback
from telegram_assistant.errors import Rejected
from telegram_assistant.features.digests import interests
from telegram_assistant.reasons import Reason
from telegram_assistant.web.views import Content, TenantView, go, own_path

WEIGHTS = (-MAX_WEIGHT, -OWN_WEIGHT, 0.5, OWN_WEIGHT, 2.0, MAX_WEIGHT)
"""What the page offers: never, less, a little, more, much more, always first."""


async def show(view: TenantView) -> Content:
    return {"interests": await view.own.interests.all(), "weights": WEIGHTS, "most": MAX_WEIGHT}


async def write_down(view: TenantView) -> Response:
    await interests.write_down(view.text("topic"), interests=view.own.interests, weight=_weight(view))
    return go(view.url("/interests"))


async def remove(view: TenantView) -> Response:
    await interests.remove(view.text("topic"), interests=view.own.interests)
    return go(view.url("/interests"))


async def reset(view: TenantView) -> Response:
    await view.own.interests.reset()
    return go(view.url("/interests"))


async def say(view: TenantView) -> Response:
    """More or less of stories like this one, then back to it."""
    try:
        feedback = Feedback(view.text("feedback"))
    except ValueError as error:
        raise Rejected(Reason("choice_unknown", "choose one of the values that the page offers")) from error
    await interests.learn(view.text("headline"), feedback, interests=view.own.interests)
    return go(own_path(view.text("back"), view.url("/interests")))


def _weight(view: TenantView) -> float:
    try:
        return float(view.text("weight") or OWN_WEIGHT)
    except ValueError as error:
        raise Rejected(Reason("choice_unknown", "choose one of the values that the page offers")) from error
