"""The stories of a tenant: what several of its channels tell, the weightiest first, and one story in full."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.domain.channels.coverage import CoverageState
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.differences import Piece, pieces_of
from telegram_assistant.domain.stories.pictures import DistinctPicture, pictures_of
from telegram_assistant.domain.stories.ranking import weight_of
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.domain.stories.visible import Grouping, VisiblePost, VisibleStory
from telegram_assistant.errors import Conflicting, Missing
from telegram_assistant.features.stories.news import tells_news
from telegram_assistant.features.stories.telling import (
    NewestState,
    StoryTelling,
    newest_state_of,
    summary_of,
    tell,
)
from telegram_assistant.features.stories.writing import SummaryMaterial, load_known_summaries, load_materials
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.coverage import ChannelCoverage
from telegram_assistant.stores.postgres.feed.choices import Mutes
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.stories.own_stories import MAX_CANDIDATES, OwnStories
from telegram_assistant.summaries.values import StorySummary, WrittenSummary

MAX_AGE = timedelta(days=7)
POST_ALONE = Reason("post_alone", "this post is alone already")
NOT_TAKEN_OUT = Reason("post_not_taken_out", "this post was not taken out of a story")
NO_STORY = Reason("story_unknown", "your channels have no story with this post")


@dataclass(frozen=True, slots=True)
class ListedStory:
    """A story of a list: what it says, and its posts since the reader was here that repeat no other."""

    story: VisibleStory
    telling: StoryTelling
    new: tuple[VisiblePost, ...]


@dataclass(frozen=True, slots=True)
class StoryList:
    """Stories, the weightiest first; those with something new before all others."""

    grouping: Grouping
    stories: tuple[ListedStory, ...]


async def recent_stories(  # noqa: PLR0913 -- the reader's choices
    since: datetime,
    *,
    stores: TenantStores,
    now: datetime,
    seen_at: datetime | None = None,
    folder: str | None = None,
    mutes: Mutes | None = None,
    language: str | None = None,
    limit: int = 30,
    candidate_count: int = MAX_CANDIDATES,
    max_age: timedelta = MAX_AGE,
) -> StoryList:
    """Stories with news since then, told in this language where a post is in it. A copy is no news.

    `seen_at` is when the reader was here; what was stored later is new. Muted channels tell nothing, and
    muted stories are left out. The stories with the most channels are `candidates`; who looks for small ones,
    too, wants more of them.
    """
    left_out = mutes or Mutes()
    excluded_channel_ids = [channel.channel_id for channel in left_out.channels]
    material = await stores.stories.recent(
        max(since, now - max_age), folder=folder, without=excluded_channel_ids, candidates=candidate_count
    )

    def list_stories() -> tuple[ListedStory, ...]:
        pairs = [
            (story, story.news_since(seen_at) if seen_at else ())
            for story in material.stories()
            if tells_news(story)
            and story.newest_news.posted_at >= since
            and (folder is None or folder in story.folders)
            and not story.has_any(left_out.stories)
        ]
        pairs.sort(
            key=lambda pair: (
                not pair[1],
                -weight_of(pair[0], now=now, is_new=bool(pair[1])),
                pair[0].story_id,
            )
        )
        return tuple(ListedStory(story, tell(story, language=language), new) for story, new in pairs[:limit])

    return StoryList(material.grouping, await asyncio.to_thread(list_stories))


@dataclass(frozen=True, slots=True)
class TextChange:
    """An edit or the deletion of a post of the story; a deletion has no pieces."""

    post: VisiblePost
    changed_at: datetime
    is_deletion: bool
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class StoryChannel:
    """A channel of the story: its first post of it, how many posts, and how complete we know the channel."""

    first: VisiblePost
    posts: int
    how: LinkKind | None
    """How its first post follows an earlier one; None: it repeats nobody that we know of."""
    coverage: ChannelCoverage | None

    @property
    def is_complete(self) -> bool:
        return self.coverage is not None and self.coverage.status.state is CoverageState.COMPLETE


@dataclass(frozen=True, slots=True)
class FullStory:
    """Everything that a page shows of a story."""

    story: VisibleStory
    telling: StoryTelling
    summary: StorySummary | None
    """None if no post says anything that can be quoted."""
    material: SummaryMaterial | None
    """The material that a provider may read; None without a summary."""
    written: WrittenSummary | None
    """The summary that a provider has written from the material."""
    sources: tuple[StoryChannel, ...]
    changes: tuple[TextChange, ...]
    """In the order in which they were noticed."""
    pictures: tuple[DistinctPicture, ...]

    @property
    def newest_state(self) -> NewestState | None:
        """None if nothing new was said after the first reports."""
        return None if self.summary is None else newest_state_of(self.story, self.summary)

    @property
    def incomplete(self) -> tuple[StoryChannel, ...]:
        """Channels of which posts may be missing: one of them could have been first."""
        return tuple(source for source in self.sources if not source.is_complete)


async def visible_story(
    post_id: PostId, *, stores: TenantStores, excluded_channel_ids: Collection[ChannelId] = ()
) -> VisibleStory:
    """The story that a post belongs to, without the posts of some channels. Raises Missing if the post is not
    visible, or is in no story.
    """
    material = await stores.stories.around(post_id, without=excluded_channel_ids)
    story = next(
        (story for story in material.stories() if any(post.post_id == post_id for post in story.posts)), None
    )
    if story is None:
        raise Missing(NO_STORY)
    return story


async def visible_stories(
    post_ids: Sequence[PostId], *, stores: TenantStores, with_pictures: bool = False
) -> dict[PostId, VisibleStory]:
    """The stories of those of these posts that are visible, without earlier texts, and without pictures
    unless they are wanted.
    """
    if not post_ids:
        return {}
    material = await stores.stories.around_some(post_ids, with_pictures=with_pictures)
    wanted_post_ids = frozenset(post_ids)

    def find_stories() -> dict[PostId, VisibleStory]:
        return {
            post.post_id: story
            for story in material.stories()
            for post in story.posts
            if post.post_id in wanted_post_ids
        }

    return await asyncio.to_thread(find_stories)


async def choose_grouping(grouping: Grouping, *, stores: TenantStores) -> None:
    """Says how sure a link between two posts must be, for everybody in the tenant, at once."""
    await stores.stories.choose_grouping(grouping)


async def take_out(post_id: PostId, *, stores: TenantStores) -> None:
    """Shows a post alone from now on, for everybody in the tenant: it is not about its story.

    Raises Missing if the post is not visible, or is in no story; Conflicting if nothing else is in its story.
    """
    story = await visible_story(post_id, stores=stores)
    if len(story.entries) == 1 and not any(post.is_apart for post in story.posts):
        raise Conflicting(POST_ALONE)
    await stores.stories.take_out(post_id)


async def put_back(post_id: PostId, *, stores: TenantStores) -> None:
    """Lets a post join its story again, with the other items of its album.

    Raises Missing if the post is not visible, or was not taken out.
    """
    story = await visible_story(post_id, stores=stores)
    if not await stores.stories.put_back([post.post_id for post in story.posts if post.is_apart]):
        raise Missing(NOT_TAKEN_OUT)


async def story_around(
    post_id: PostId,
    *,
    stores: TenantStores,
    language: str | None = None,
    excluded_channel_ids: Collection[ChannelId] = (),
) -> FullStory:
    """The story that a post belongs to, in full, without the posts of some channels.

    Raises Missing if the post is not visible, or is in no story.
    """
    story = await visible_story(post_id, stores=stores, excluded_channel_ids=excluded_channel_ids)
    channel_coverages, (summary, material, written_summary), pictures = await asyncio.gather(
        stores.coverage_overview.channels(story.channel_ids),
        _summarise_story(story, language, stores),
        _pictures(story, stores),
    )
    sources = _sources(story, {channel.channel_id: channel for channel in channel_coverages})
    return FullStory(
        story,
        tell(story, language=language),
        summary,
        material,
        written_summary,
        sources,
        _changes(story),
        pictures,
    )


async def _summarise_story(
    story: VisibleStory, language: str | None, stores: TenantStores
) -> tuple[StorySummary | None, SummaryMaterial | None, WrittenSummary | None]:
    """The summary, what a provider may read for one, and what it has written already."""
    summary = await asyncio.to_thread(summary_of, story, language=language)
    if summary is None:
        return None, None, None
    material = (await load_materials([(story, summary)], stores=stores))[0]
    return summary, material, (await load_known_summaries([material], stores=stores)).get(material.key)


def _sources(story: VisibleStory, coverage: dict[ChannelId, ChannelCoverage]) -> tuple[StoryChannel, ...]:
    return tuple(
        StoryChannel(
            first_post,
            sum(post.channel_id == first_post.channel_id for post in story.posts),
            story.follows[first_post.post_id].kind if first_post.post_id in story.follows else None,
            coverage.get(first_post.channel_id),
        )
        for first_post in story.first_of_channels
    )


def _changes(story: VisibleStory) -> tuple[TextChange, ...]:
    changes = [
        TextChange(post, post.deleted_at, is_deletion=True, pieces=())
        for post in story.posts
        if post.deleted_at
    ]
    for post in story.posts:
        texts = [*(version.text for version in post.earlier), post.text]
        changes += (
            TextChange(
                post,
                earlier_text.replaced_at,
                is_deletion=False,
                pieces=pieces_of(earlier_text.difference, earlier_text.text, after),
            )
            for earlier_text, after in zip(post.earlier, texts[1:], strict=True)
            if earlier_text.text != after
        )
    return tuple(sorted(changes, key=lambda change: (change.changed_at, change.post.place)))


async def _pictures(story: VisibleStory, stores: TenantStores) -> tuple[DistinctPicture, ...]:
    """Each picture once. Their looks are loaded only if there are several files."""
    files = {picture.sha256 for post in story.posts for picture in post.pictures}
    post_ids = [post.post_id for post in story.posts if post.pictures]
    return await asyncio.to_thread(
        pictures_of, story, await stores.stories.read_pictures(post_ids) if len(files) > 1 else {}
    )


async def has_stories(*, stories: OwnStories) -> bool:
    return await stories.has_any()
