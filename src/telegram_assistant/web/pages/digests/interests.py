"""A person's interests: a list to read and edit."""

from starlette.responses import Response

from telegram_assistant.domain.digests.interests import ABOUT_STORIES, MAX_WEIGHT, OWN_WEIGHT, Feedback
from telegram_assistant.domain.ids import PostId
from telegram_assistant.errors import Rejected
from telegram_assistant.features.digests import interests
from telegram_assistant.reasons import Reason
from telegram_assistant.web.views import FORM_DAMAGED, Content, TenantView, go, own_path

WEIGHTS = (-MAX_WEIGHT, -OWN_WEIGHT, 0.5, OWN_WEIGHT, 2.0, MAX_WEIGHT)
"""The weights on the page: never, less, a little, more, much more, always first."""


async def show(view: TenantView) -> Content:
    own_interests, opinions = await interests.load_interests(view.own.interests)
    return {
        "interests": own_interests,
        "opinions": [opinion for opinion in opinions if opinion.feedback is not Feedback.MUTED],
        "muted": [opinion for opinion in opinions if opinion.feedback is Feedback.MUTED],
        "weights": WEIGHTS,
    }


async def write_down(view: TenantView) -> Response:
    await interests.write_down(view.text("topic"), interests=view.own.interests, weight=_weight(view))
    return go(view.url("/interests"))


async def remove(view: TenantView) -> Response:
    await interests.remove(view.text("topic"), interests=view.own.interests)
    return go(view.url("/interests"))


async def reset(view: TenantView) -> Response:
    await interests.reset_interests(interests=view.own.interests)
    return go(view.url("/interests"))


async def give_feedback(view: TenantView) -> Response:
    """Saves a person's feedback about a story, or takes it back; then returns to where they were."""
    try:
        feedback, post_id = Feedback(view.text("feedback")), PostId.parse(view.text("story"))
    except ValueError as error:
        raise Rejected(FORM_DAMAGED) from error
    if feedback not in ABOUT_STORIES:
        raise Rejected(FORM_DAMAGED)
    change = interests.take_back if view.text("do") == "undo" else interests.say
    await change(post_id, feedback, stores=view.stores, interests=view.own.interests)
    return go(own_path(view.text("back"), view.url("/interests")))


def _weight(view: TenantView) -> float:
    try:
        return float(view.text("weight") or OWN_WEIGHT)
    except ValueError as error:
        raise Rejected(Reason("choice_unknown", "choose one of the values that the page offers")) from error
