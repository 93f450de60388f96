"""Composes a digest from the stories of a tenant: what is new, what has new facts, what was corrected; nothing twice."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from telegram_assistant.domain.digests.digest import Digest, DigestSentence, DigestStory, Novelty, told_before
from telegram_assistant.domain.digests.plan import DigestLength
from telegram_assistant.domain.people.interests import Interest
from telegram_assistant.domain.stories.ranking import weight_of
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.features.interests import touched
from telegram_assistant.features.stories.stories import ListedStory, recent_stories
from telegram_assistant.features.stories.telling import CitedSentence, tell
from telegram_assistant.language.names import names_in
from telegram_assistant.language.numbers import numbers_in
from telegram_assistant.stores.postgres.people.choices import Mutes
from telegram_assistant.stores.postgres.stores import TenantStores

CONSIDERED = 150
"""Stories that are looked at, the weightiest first."""
LATE = timedelta(days=2)
"""A post that was published before the last digest may be stored after it."""
MAX_CHANNELS = 6
"""Channels that a digest names per story."""


async def compose(
    since: datetime,
    *,
    stores: TenantStores,
    now: datetime,
    length: DigestLength = DigestLength.NORMAL,
    earlier: Sequence[Digest] = (),
    mutes: Mutes | None = None,
    interests: Sequence[Interest] = (),
) -> Digest:
    """Returns what happened since then, what interests most first. `earlier` are the digests of the last week: what they told is not told again."""
    muted = mutes or Mutes()
    without = [one.channel_id for one in muted.channels]
    found = await recent_stories(since - LATE, stores=stores, now=now, seen_at=since, without=without, limit=CONSIDERED)
    told: list[tuple[float, DigestStory]] = []
    unchanged = silenced = 0
    for one in found.stories:
        if not (one.new or _was_corrected(one.story, since)):
            continue
        said = _said(one)
        if any(word.casefold() in said.casefold() for word in muted.words):
            silenced += 1
        elif (story := _told(one, since=since, length=length, earlier=earlier)) is None:
            unchanged += 1
        else:
            of = touched(said, interests)
            told.append((-of.factor * weight_of(one.story, now=now, is_new=True), replace(story, interests=of.topics)))
    told.sort(key=lambda one: (one[0], one[1].story_id))
    stories = tuple(story for _, story in told[: length.stories])
    return Digest(since, now, stories, unchanged=unchanged, beyond=len(told) - len(stories), muted=silenced)


def _told(one: ListedStory, *, since: datetime, length: DigestLength, earlier: Sequence[Digest]) -> DigestStory | None:
    """None if an earlier digest told it and nothing has changed."""
    before = told_before([post.post_id for post in one.story.posts], earlier)
    if not before:
        return _entry(one.story, Novelty.NEW, one.telling.headline, one.telling.sentences[: length.sentences])
    fresh = _new_facts(one, told="\n".join(story.text for story in before), most=length.sentences)
    if fresh:
        return _entry(one.story, Novelty.GROWN, one.telling.headline, fresh)
    if _was_corrected(one.story, since):
        return _entry(one.story, Novelty.CORRECTED, one.telling.headline, one.telling.sentences[: length.sentences])
    return None


def _new_facts(one: ListedStory, *, told: str, most: int) -> tuple[CitedSentence, ...]:
    """Sentences of the new posts with a number or a name that the earlier digests did not have."""
    if not one.new:
        return ()
    said = tell(VisibleStory(one.new))
    known = _facts(told)
    candidates = (CitedSentence(said.headline, (one.new[0].post_id,)), *said.sentences)
    return tuple(sentence for sentence in candidates if _facts(sentence.text) - known)[:most]


def _facts(text: str) -> set[str]:
    return {*names_in(text), *(number.value for number in numbers_in(text))}


def _was_corrected(story: VisibleStory, since: datetime) -> bool:
    return any(post.deleted_at and post.deleted_at > since for post in story.posts)


def _said(one: ListedStory) -> str:
    return "\n".join((one.telling.headline, *(sentence.text for sentence in one.telling.sentences)))


def _entry(story: VisibleStory, novelty: Novelty, headline: str, sentences: Sequence[CitedSentence]) -> DigestStory:
    firsts = story.first_of_channels
    return DigestStory(
        novelty,
        headline,
        tuple(DigestSentence(one.text, one.posts) for one in sentences),
        tuple(post.channel for post in firsts[:MAX_CHANNELS]),
        story.first.posted_at,
        tuple(post.post_id for post in story.posts),
    )
