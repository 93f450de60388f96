"""Saves a story, ends it for now, follows it; or takes that back."""

import asyncio

from starlette.responses import Response

from telegram_assistant.domain.stories.marks import Mark
from telegram_assistant.errors import Rejected
from telegram_assistant.features.stories.marks import (
    latest_mark,
    list_marks,
    mark_story,
    unmark_story,
)
from telegram_assistant.features.stories.stories import visible_story
from telegram_assistant.web.views import FORM_DAMAGED, Content, TenantView, go, own_path


async def change(view: TenantView) -> Content | Response:
    """The marks of the story again and a note for a script, the page for everybody else."""
    if view.text("mark") not in set(Mark):
        raise Rejected(FORM_DAMAGED)
    post_id, mark, back = view.post_id(), Mark(view.text("mark")), own_path(view.text("back"), "")
    is_undone = view.text("do") == "undo"
    await (unmark_story if is_undone else mark_story)(
        post_id, mark, stores=view.stores, marks=view.own.story_marks
    )
    if not view.is_fragment:
        return go(back or view.url(f"/story/{post_id}"))
    story, marks = await asyncio.gather(
        visible_story(post_id, stores=view.stores), list_marks(marks=view.own.story_marks)
    )
    return {
        "story": story,
        "marks": marks,
        "just_marked": None if is_undone else latest_mark(marks, now=view.now),
        "back": back,
    }
