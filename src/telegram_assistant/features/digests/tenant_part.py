"""The part of a digest that is equal for all people of a tenant: its stories, read and named once."""

import asyncio
from collections.abc import Hashable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from telegram_assistant.domain.stories.ranking import weight_of
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.features.digests.interests import text_without_channel
from telegram_assistant.features.stories.stories import ListedStory, recent_stories
from telegram_assistant.language.topics import TextMemory
from telegram_assistant.stores.postgres.feed.choices import Mutes
from telegram_assistant.stores.postgres.stores import TenantStores

MAX_CONSIDERED = 400
"""Stories that are looked at: a small one may interest most."""
MAX_CHANNELS = 6
"""Channels that a digest names per story, and whose posts say whether it interests."""
MAX_DELAY = timedelta(days=2)
"""A post that was published before the last digest may be stored after it."""
STEP = timedelta(hours=1)
"""People whose last digests ended within so much time share what is read. Nobody is told less for it."""


class TenantPart:
    """Reads the stories of a tenant for the digests of its people that are made together.

    People who muted the same channels and read the same language share what is read. Only what concerns the
    one person is done for each: what is new since the last digest, what they muted, what interests them.
    """

    def __init__(self, stores: TenantStores, *, now: datetime, is_shared: bool = False) -> None:
        self._stores = stores
        self._now = now
        self._is_shared = is_shared
        self._reading: dict[Hashable, asyncio.Task[tuple[ListedStory, ...]]] = {}
        self._texts: dict[int, tuple[VisibleStory, Sequence[str]]] = {}
        """By identity of the story, which therefore has to stay."""
        self.texts = TextMemory()
        """The words of the texts, for the interests of all people."""

    async def since(self, since: datetime, *, mutes: Mutes, language: str | None) -> tuple[ListedStory, ...]:
        """Stories with news since shortly before then, and what is new in them since then."""
        begins = _round_down(since, STEP) if self._is_shared else since
        channel_ids = frozenset(channel.channel_id for channel in mutes.channels)
        key = begins, channel_ids, language
        if key not in self._reading:
            self._reading[key] = asyncio.create_task(self._read(begins, mutes, language))
        listed_stories = await asyncio.shield(self._reading[key])
        return await asyncio.to_thread(self._choose, listed_stories, since, mutes)

    def texts_of(self, story: VisibleStory) -> Sequence[str]:
        """The texts that say whether a story interests, without the names of their channels."""
        known_texts = self._texts.get(id(story))
        if known_texts is None:
            texts = tuple(
                text_without_channel(post.text, post.channel)
                for post in story.first_of_channels[:MAX_CHANNELS]
            )
            known_texts = self._texts[id(story)] = story, texts
        return known_texts[1]

    async def _read(self, begins: datetime, mutes: Mutes, language: str | None) -> tuple[ListedStory, ...]:
        recent = await recent_stories(
            begins - MAX_DELAY,
            stores=self._stores,
            now=self._now,
            mutes=Mutes(channels=mutes.channels),
            limit=2 * MAX_CONSIDERED,
            candidate_count=MAX_CONSIDERED,
            max_age=self._now - begins + MAX_DELAY,
            language=language,
        )
        return recent.stories

    def _choose(
        self, listed_stories: tuple[ListedStory, ...], since: datetime, mutes: Mutes
    ) -> tuple[ListedStory, ...]:
        chosen_stories = [
            replace(listed_story, new=listed_story.story.news_since(since))
            for listed_story in listed_stories
            if listed_story.story.newest_news.posted_at >= since - MAX_DELAY
            and not listed_story.story.has_any(mutes.stories)
        ]
        if len(chosen_stories) > MAX_CONSIDERED:
            chosen_stories.sort(
                key=lambda listed_story: (
                    not listed_story.new,
                    -weight_of(listed_story.story, now=self._now, is_new=bool(listed_story.new)),
                    listed_story.story.story_id,
                )
            )
        return tuple(chosen_stories[:MAX_CONSIDERED])


def _round_down(moment: datetime, step: timedelta) -> datetime:
    seconds = int(step.total_seconds())
    return datetime.fromtimestamp(int(moment.timestamp()) // seconds * seconds, moment.tzinfo)
