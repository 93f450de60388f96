"""Stories: what several followed channels tell of the same event."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.endpoints.posts.posts import TextPieceResponse
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import (
    ChannelNumber,
    Limit,
    MessageNumber,
    Moment,
    RequestModel,
    ResponseModel,
    Storable,
)
from telegram_assistant.api.story_summaries import (
    SUMMARY_EXAMPLE,
    WRITTEN_EXAMPLE,
    CitedSentenceResponse,
    StorySummaryResponse,
    WrittenSummaryResponse,
    cited_sentence_response,
    summary_response,
    written_summary_response,
)
from telegram_assistant.domain.channels.coverage import CoverageState
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.domain.stories.visible import Grouping, VisiblePost, VisibleStory
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.stories.stories import (
    FullStory,
    ListedStory,
    StoryChannel,
    TextChange,
    choose_grouping,
    put_back,
    recent_stories,
    story_around,
    take_out,
)
from telegram_assistant.features.stories.telling import StoryTelling
from telegram_assistant.reasons import Reason
from telegram_assistant.summaries.state_words import StateWord

area = Area(
    "Stories", "What several followed channels tell of the same event. Only posts that you can see count."
)

THREE_DAYS = timedelta(days=3)


class StoryResponse(ResponseModel):
    """A story. `story_id` is the id of its first post; the id of any of its posts finds it."""

    story_id: str
    headline: str
    before: str = Field(description="The headline until the state changed; empty if it did not.")
    state_at: datetime | None = Field(description="When the state changed to what `headline` says.")
    state: StateWord | None = Field(
        description="What became of the story; null if its posts do not say so beyond doubt."
    )
    sentences: list[CitedSentenceResponse]
    channels: list[str] = Field(description="Titles of the channels, the one that was first first.")
    posts: int
    first_posted_at: datetime
    last_posted_at: datetime
    languages: list[str]


class StoriesResponse(ResponseModel):
    """Stories, the weightiest first."""

    grouping: Grouping
    items: list[StoryResponse]


class StoryPostResponse(ResponseModel):
    """A post of a story.

    `how` says how it follows the earlier post `follows`; both are null for a post that repeats nobody that we
    know of.
    """

    post_id: str
    channel: str
    link: str
    posted_at: datetime
    deleted_at: datetime | None
    revision: int
    language: str | None
    views: int | None
    text: str
    how: LinkKind | None
    follows: str | None
    is_apart: bool = Field(description="Whether your tenant took it out of its story.")


class StorySourceResponse(ResponseModel):
    """A channel of the story, and whether all its posts are known: if not, it could have been earlier."""

    channel_id: int
    channel: str
    first_post_id: str
    first_posted_at: datetime
    posts: int
    coverage: CoverageState | None


class StoryChangeResponse(ResponseModel):
    """An edit with its differences, or a deletion without."""

    post_id: str
    kind: Annotated[str, Field(pattern="^(edited|deleted)$")]
    changed_at: datetime
    difference: list[TextPieceResponse]


class StoryPictureResponse(ResponseModel):
    """A picture of the story, once: copies that look alike and say the same are one."""

    sha256: str = Field(description="The largest copy.")
    post_ids: list[str] = Field(description="The posts that show a copy of it, the first first.")


class FullStoryResponse(ResponseModel):
    """A story with everything that you can see of it."""

    story: StoryResponse
    summary: StorySummaryResponse | None = Field(
        description="Null if no post says anything that can be quoted."
    )
    written: WrittenSummaryResponse | None = Field(
        description="Null unless a provider has summed up these posts; `POST …/summary` asks one."
    )
    posts: list[StoryPostResponse]
    sources: list[StorySourceResponse]
    changes: list[StoryChangeResponse]
    pictures: list[StoryPictureResponse]


class GroupingRequest(RequestModel):
    """How strictly stories are grouped."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"grouping": "strict"}]})

    grouping: Grouping


class GroupingResponse(ResponseModel):
    """How strictly stories are grouped."""

    grouping: Grouping


STORY_EXAMPLE = {
    "story_id": "1234567890/42",
    "headline": "The bridge is closed to trucks until April",
    "before": "",
    "state_at": None,
    "state": None,
    "sentences": [
        {
            "text": "An inspection has found cracks in two piers.",
            "post_ids": ["1234567890/42", "1234567891/7"],
        }
    ],
    "channels": ["City news", "Roads today"],
    "posts": 3,
    "first_posted_at": "2026-11-15T08:00:00Z",
    "last_posted_at": "2026-11-15T09:30:00Z",
    "languages": ["en"],
}
POST_EXAMPLE = {
    "post_id": "1234567891/7",
    "channel": "Roads today",
    "link": "https://t.me/roadstoday/7",
    "posted_at": "2026-11-15T09:30:00Z",
    "deleted_at": None,
    "revision": 1,
    "language": "en",
    "views": 1500,
    "text": "The bridge is closed to trucks until April. An inspection has found cracks in two piers.",
    "how": "rewrite",
    "follows": "1234567890/42",
    "is_apart": False,
}
SOURCE_EXAMPLE = {
    "channel_id": 1234567890,
    "channel": "City news",
    "first_post_id": "1234567890/42",
    "first_posted_at": "2026-11-15T08:00:00Z",
    "posts": 2,
    "coverage": "complete",
}
FULL_EXAMPLE = {
    "story": STORY_EXAMPLE,
    "summary": SUMMARY_EXAMPLE,
    "written": WRITTEN_EXAMPLE,
    "posts": [POST_EXAMPLE],
    "sources": [SOURCE_EXAMPLE],
    "changes": [],
    "pictures": [],
}


@area.get("/stories", scope=KeyScope.READ, example={"grouping": "normal", "items": [STORY_EXAMPLE]})
async def list_stories(
    context: Context,
    since: Annotated[
        Moment | None,
        Query(
            description="Only stories with a post since this time, at most a week ago. Default: three days."
        ),
    ] = None,
    folder: Annotated[
        Storable | None,
        Query(max_length=100, description="Only stories with a post in a channel of this folder."),
    ] = None,
    limit: Limit = 30,
) -> StoriesResponse:
    """List what at least two followed channels tell, the weightiest first.

    The weight follows from the number of channels that tell it in their own words, speed, views, age and
    folders. Advertising is left out.
    """
    recent = await recent_stories(
        since or context.now - THREE_DAYS, stores=context.stores, now=context.now, folder=folder, limit=limit
    )
    return StoriesResponse(
        grouping=recent.grouping, items=[story_response(story) for story in recent.stories]
    )


@area.get("/stories/{channel_id}/{message_id}", scope=KeyScope.READ, example=FULL_EXAMPLE)
async def get_story(
    context: Context, channel_id: ChannelNumber, message_id: MessageNumber
) -> FullStoryResponse:
    """Get the story of a post: its posts in order of publication, its channels, edits, deletions and
    pictures.

    Posts that hold together only through posts that you cannot see are separate stories.
    """
    full_story = await story_around(
        PostId(ChannelId(channel_id), MessageId(message_id)), stores=context.stores
    )
    return full_response(full_story, context.translate)


@area.put("/stories/grouping", scope=KeyScope.WRITE, example={"grouping": "strict"})
async def choose_story_grouping(context: Context, choice: GroupingRequest) -> GroupingResponse:
    """Choose how sure a link between two posts must be: `loose`, `normal` or `strict`.

    It holds for the whole tenant, at once.
    """
    await choose_grouping(choice.grouping, stores=context.stores)
    context.note(grouping=choice.grouping.value)
    return GroupingResponse(grouping=choice.grouping)


@area.put(
    "/stories/{channel_id}/{message_id}/apart",
    scope=KeyScope.WRITE,
    example=None,
    status=204,
    also=(409,),
)
async def take_post_out(context: Context, channel_id: ChannelNumber, message_id: MessageNumber) -> None:
    """Take a post out of its story: it is about something else.

    The whole tenant is shown it alone from now on, also after posts are grouped again. Other tenants notice
    nothing.
    """
    post_id = PostId(ChannelId(channel_id), MessageId(message_id))
    await take_out(post_id, stores=context.stores)
    context.note(post=str(post_id))


@area.delete("/stories/{channel_id}/{message_id}/apart", scope=KeyScope.WRITE)
async def put_post_back(context: Context, channel_id: ChannelNumber, message_id: MessageNumber) -> None:
    """Let a post that was taken out join its story again."""
    post_id = PostId(ChannelId(channel_id), MessageId(message_id))
    await put_back(post_id, stores=context.stores)
    context.note(post=str(post_id))


def story_response(listed_story: ListedStory) -> StoryResponse:
    """A story of a list."""
    return _response(listed_story.story, listed_story.telling)


def _response(story: VisibleStory, telling: StoryTelling) -> StoryResponse:
    return StoryResponse(
        story_id=str(story.story_id),
        headline=telling.headline,
        before=telling.before,
        state_at=telling.state_at,
        state=telling.word,
        sentences=[cited_sentence_response(sentence) for sentence in telling.sentences],
        channels=[post.channel for post in story.first_of_channels],
        posts=len(story.posts),
        first_posted_at=story.first.posted_at,
        last_posted_at=story.newest.posted_at,
        languages=list(story.languages),
    )


def full_response(full: FullStory, translate: Callable[[Reason], str]) -> FullStoryResponse:
    return FullStoryResponse(
        story=_response(full.story, full.telling),
        summary=summary_response(full.summary) if full.summary else None,
        written=written_summary_response(full.written, translate) if full.written else None,
        posts=[_post(post, full.story) for post in full.story.posts],
        sources=[_source(source) for source in full.sources],
        changes=[_change(change) for change in full.changes],
        pictures=[
            StoryPictureResponse(
                sha256=picture.picture.sha256, post_ids=[str(post.post_id) for post in picture.posts]
            )
            for picture in full.pictures
        ],
    )


def _post(post: VisiblePost, story: VisibleStory) -> StoryPostResponse:
    link = story.follows.get(post.post_id)
    return StoryPostResponse(
        post_id=str(post.post_id),
        channel=post.channel,
        link=post.link,
        posted_at=post.posted_at,
        deleted_at=post.deleted_at,
        revision=post.revision,
        language=post.language,
        views=post.views,
        text=post.text,
        how=link.kind if link else None,
        follows=str(link.other) if link else None,
        is_apart=post.is_apart,
    )


def _source(source: StoryChannel) -> StorySourceResponse:
    return StorySourceResponse(
        channel_id=source.first.channel_id,
        channel=source.first.channel,
        first_post_id=str(source.first.post_id),
        first_posted_at=source.first.posted_at,
        posts=source.posts,
        coverage=source.coverage.status.state if source.coverage else None,
    )


def _change(change: TextChange) -> StoryChangeResponse:
    return StoryChangeResponse(
        post_id=str(change.post.post_id),
        kind="deleted" if change.is_deletion else "edited",
        changed_at=change.changed_at,
        difference=[TextPieceResponse(change=piece.change, text=piece.text) for piece in change.pieces],
    )
