"""One story: what is established and disputed, who told it first, how it spread, what was changed,
its pictures and its posts.
"""

import asyncio
from collections import Counter
from dataclasses import replace

from telegram_assistant.features.digests.interests import said_about
from telegram_assistant.features.stories.stories import FullStory, story_around
from telegram_assistant.features.stories.telling import words_of
from telegram_assistant.features.stories.writing import SummaryWriter, offer_summary, write_summary
from telegram_assistant.features.understanding.provider_texts import PATIENCE
from telegram_assistant.reasons import Reason
from telegram_assistant.web.charts.stories import draw_spread
from telegram_assistant.web.views import Content, TenantView

SHOWN_POSTS = 60


async def show(view: TenantView) -> Content:
    """What is written already is shown; nobody is asked and nothing is paid."""
    return await _shown(
        view, await story_around(view.post_id(), stores=view.stores, language=view.language.value)
    )


async def write(view: TenantView) -> Content:
    """Lets a provider sum up the story, for the price that the button showed."""
    full = await story_around(view.post_id(), stores=view.stores, language=view.language.value)
    patience_seconds = PATIENCE * view.app.settings.api.timeout_seconds
    view.leave_queue()
    writing = await write_summary(
        full.material, writer=_writer(view), stores=view.stores, patience_seconds=patience_seconds
    )
    return await _shown(view, replace(full, written=writing.written), fallback=writing.fallback)


def _writer(view: TenantView) -> SummaryWriter:
    return SummaryWriter(view.app.questions, view.membership.tenant_id)


async def _shown(view: TenantView, full: FullStory, *, fallback: Reason | None = None) -> Content:
    visit, opinions, offer = await asyncio.gather(
        view.own.choices.visit(view.now),
        view.own.interests.said(),
        offer_summary(None if full.written else full.material, writer=_writer(view)),
    )
    places = {post.entry: number for number, post in enumerate(full.story.entries, start=1)}
    numbers = {post.post_id: places[post.entry] for post in full.story.posts}
    known = [
        sentence
        for sentence in (full.summary.known if full.summary else ())
        if sentence.text != full.telling.headline
    ]
    return {
        "full": full,
        "story": full.story,
        "said": said_about(full.story, opinions),
        "known": known,
        "numbers": numbers,
        "entries": [
            (numbers[post.post_id], post, words_of(post), full.story.follows.get(post.post_id))
            for post in full.story.entries
        ],
        "shown_posts": SHOWN_POSTS,
        "spread": draw_spread(full.story, seen_at=visit.before_at),
        "before_at": visit.before_at,
        "written": full.written,
        "left_out": Counter(full.written.checks.reasons) if full.written else {},
        "offer": offer,
        "fallback": fallback,
    }
