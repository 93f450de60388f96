"""The entries of a digest as its page shows them: by folder and weight, with pictures and actions."""

from collections.abc import Sequence
from dataclasses import dataclass

from telegram_assistant.domain.digests.digest import DigestStory
from telegram_assistant.domain.digests.interests import Feedback, StoryFeedback
from telegram_assistant.domain.digests.sections import Section, sections_of
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.pictures import DistinctPicture, pictures_of
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.features.stories.stories import visible_stories
from telegram_assistant.stores.postgres.stores import TenantStores

TOLD_IN_FULL = 6
"""The weightiest entries have all sentences and a picture; the others follow in brief."""
MAX_NAMING = 5
"""Posts by which a story is found again; the first may be gone."""


@dataclass(frozen=True, slots=True)
class DigestEntry:
    """An entry of the page."""

    story: DigestStory
    now: VisibleStory | None
    """The story as it is now, for its actions; None if it is no longer visible, or stands above already."""
    picture: DistinctPicture | None
    hidden: StoryFeedback | None
    """The feedback with which the reader hid it."""
    feedback: frozenset[Feedback]
    is_brief: bool

    @property
    def story_id(self) -> PostId:
        return self.now.story_id if self.now else self.story.story_id


async def load_current_stories(
    stories: Sequence[DigestStory], *, stores: TenantStores
) -> dict[PostId, VisibleStory]:
    """The stories of a digest as they are now, by those of their posts that name them."""
    naming = [post_id for story in stories for post_id in story.posts[:MAX_NAMING]]
    return await visible_stories(naming, stores=stores, with_pictures=True)


def entry_sections(
    stories: Sequence[DigestStory],
    story_by_post_id: dict[PostId, VisibleStory],
    opinions: Sequence[StoryFeedback],
) -> tuple[Section[DigestEntry], ...]:
    entries: list[DigestEntry] = []
    listed_ids: set[PostId] = set()
    for story_index, story in enumerate(stories):
        now = next(
            (story_by_post_id[post_id] for post_id in story.posts if post_id in story_by_post_id), None
        )
        is_brief = story_index >= TOLD_IN_FULL
        entries.append(
            _entry(story, None if now and now.story_id in listed_ids else now, opinions, is_brief=is_brief)
        )
        listed_ids.update([now.story_id] if now else [])
    return sections_of(entries, lambda entry: entry.story.folder)


def _entry(
    story: DigestStory, now: VisibleStory | None, opinions: Sequence[StoryFeedback], *, is_brief: bool
) -> DigestEntry:
    post_ids = {*story.posts, *(post.post_id for post in (now.posts if now else ()))}
    about = [opinion for opinion in opinions if opinion.post_id in post_ids]
    pictures = pictures_of(now, {}) if now and not is_brief else ()
    return DigestEntry(
        story,
        now,
        pictures[0] if pictures else None,
        next((opinion for opinion in about if opinion.feedback is Feedback.MUTED), None),
        frozenset(opinion.feedback for opinion in about),
        is_brief,
    )
