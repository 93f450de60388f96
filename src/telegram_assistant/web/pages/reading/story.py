"""One story: what is established and disputed, who told it first, how it spread, what was changed, its pictures and its posts."""

import asyncio

from telegram_assistant.features.digests.interests import said_about
from telegram_assistant.features.stories.stories import story_around
from telegram_assistant.features.stories.telling import words_of
from telegram_assistant.web.charts.stories import draw_spread
from telegram_assistant.web.views import Content, TenantView

SHOWN_POSTS = 60


async def show(view: TenantView) -> Content:
    visit, said = await asyncio.gather(view.own.choices.visit(view.now), view.own.interests.said())
    full = await story_around(view.post_id(), stores=view.stores, language=view.language.value)
    places = {post.entry: number for number, post in enumerate(full.story.entries, start=1)}
    numbers = {post.post_id: places[post.entry] for post in full.story.posts}
    known = [one for one in ((full.summary.headline, *full.summary.established) if full.summary else ()) if one.text != full.telling.headline]
    return {
        "full": full,
        "story": full.story,
        "said": said_about(full.story, said),
        "known": known,
        "numbers": numbers,
        "entries": [(numbers[post.post_id], post, words_of(post), full.story.follows.get(post.post_id)) for post in full.story.entries],
        "shown_posts": SHOWN_POSTS,
        "spread": draw_spread(full.story, seen_at=visit.before_at),
        "before_at": visit.before_at,
    }
