"""One story: what channels say in their own words and dispute, who told it first, how it spread,
what was changed, its pictures and its posts.
"""

import asyncio
from collections import Counter
from dataclasses import replace

from starlette.responses import Response

from telegram_assistant.domain.stories.timeline import place_of_visit, timeline_of
from telegram_assistant.features.digests.interests import feedback_of
from telegram_assistant.features.feed.person_feed import begin_visit
from telegram_assistant.features.stories import stories
from telegram_assistant.features.stories.marks import latest_mark, marks_and_feedback
from telegram_assistant.features.stories.stories import FullStory, story_around
from telegram_assistant.features.stories.telling import words_of
from telegram_assistant.features.stories.writing import SummaryWriter, offer_summary, write_summary
from telegram_assistant.features.understanding.provider_texts import PATIENCE
from telegram_assistant.reasons import Reason
from telegram_assistant.web.charts.stories import draw_spread
from telegram_assistant.web.views import Content, TenantView, go

SHOWN_ROWS = 60


async def show(view: TenantView) -> Content:
    """Shows the summary that is written already; nobody is asked and nothing is paid."""
    return await _story_content(
        view, await story_around(view.post_id(), stores=view.stores, language=view.language.value)
    )


async def write(view: TenantView) -> Content:
    """Lets a provider sum up the story, for the price that the button showed."""
    full_story = await story_around(view.post_id(), stores=view.stores, language=view.language.value)
    patience_seconds = PATIENCE * view.app.settings.api.timeout_seconds
    view.leave_queue()
    writing = await write_summary(
        full_story.material, writer=_writer(view), stores=view.stores, patience_seconds=patience_seconds
    )
    return await _story_content(view, replace(full_story, written=writing.written), fallback=writing.fallback)


async def take_out(view: TenantView) -> Response:
    """The page of the post follows, where it can be put back."""
    post_id = view.post_id()
    await stories.take_out(post_id, stores=view.stores)
    view.note(post=str(post_id))
    return go(view.url(f"/story/{post_id}"))


async def put_back(view: TenantView) -> Response:
    post_id = view.post_id()
    await stories.put_back(post_id, stores=view.stores)
    view.note(post=str(post_id))
    return go(view.url(f"/story/{post_id}"))


def _writer(view: TenantView) -> SummaryWriter:
    return SummaryWriter(view.app.questions, view.membership.tenant_id)


async def _story_content(view: TenantView, full: FullStory, *, fallback: Reason | None = None) -> Content:
    visit, (marks, opinions), offer = await asyncio.gather(
        begin_visit(own=view.own, now=view.now),
        marks_and_feedback(marks=view.own.story_marks),
        offer_summary(None if full.written else full.material, writer=_writer(view)),
    )
    number_by_entry = {post.entry: number for number, post in enumerate(full.story.entries, start=1)}
    numbers = {post.post_id: number_by_entry[post.entry] for post in full.story.posts}
    newest_state = full.newest_state
    texts_above = {full.telling.headline, newest_state.sentence.text if newest_state else ""}
    known_sentences = [
        sentence
        for sentence in (full.summary.known if full.summary else ())
        if sentence.text not in texts_above
    ]
    is_oldest_first = view.query("order") == "oldest"
    rows = timeline_of(full.story)[:: 1 if is_oldest_first else -1]
    return {
        "came_from": view.came_from(),
        "full": full,
        "story": full.story,
        "said": feedback_of(full.story, opinions),
        "marks": marks,
        "just_marked": latest_mark(marks, now=view.now),
        "known": known_sentences,
        "numbers": numbers,
        "newest_state": newest_state,
        "rows": [(row, words_of(row.post)) for row in rows],
        "is_oldest_first": is_oldest_first,
        "visit_place": place_of_visit(rows, visit.before_at) if visit.before_at else None,
        "channels": {post.post_id: post.channel for post in full.story.posts},
        "shown_rows": SHOWN_ROWS,
        "spread": draw_spread(full.story, seen_at=visit.before_at),
        "before_at": visit.before_at,
        "written": full.written,
        "left_out": Counter(full.written.checks.reasons) if full.written else {},
        "offer": offer,
        "fallback": fallback,
    }
