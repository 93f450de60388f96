"""One post in full."""

from datetime import datetime

from pydantic import JsonValue, TypeAdapter

from telegram_assistant.api.feed import POST_EXAMPLE, PostShown, post_shown
from telegram_assistant.api.request_context import Ask
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ChannelNumber, MessageNumber, Shown
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.files import MediaKind, MediaState
from telegram_assistant.domain.posts.differences import Change
from telegram_assistant.domain.tenants.access import Scope
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.features.posts import PostInFull, VersionTold, post_in_full, versions_of
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment

area = Area("Posts", "One post: its versions, how far it reached, what it shows, what was understood of it.")

FACTS = TypeAdapter(dict[str, JsonValue])


class CountsShown(Shown):
    """How far the post had reached at that moment."""

    seen_at: datetime
    views: int | None
    forwards: int | None
    replies: int | None
    reactions: dict[str, JsonValue]


class MediaShown(Shown):
    """A file of the post, and what became of it here. Its name is the sender's."""

    ordinal: int
    kind: MediaKind
    mime: str | None
    size_bytes: int
    file_name: str | None
    width: int | None
    height: int | None
    duration_seconds: float | None
    state: MediaState
    reason: str | None
    sha256: str | None


class PageShown(Shown):
    """A page that the post links to. Its words are strangers'."""

    url: str
    status: str
    title: str | None
    author: str | None
    published_at: str | None
    found_at: str | None
    excerpt: str | None
    why: str | None


class UnderstoodShown(Shown):
    """What was understood, by whom; the best that the channel's policy lets you see."""

    tier: Tier
    provider: str
    model: str
    revision: int
    data: dict[str, JsonValue]


class ForwardShown(Shown):
    """A post of a followed channel that forwards this one."""

    post_id: str
    channel: str | None
    posted_at: datetime | None


class PostInFullShown(Shown):
    """A post with everything that is known of it. Lists of counts and forwards are cut at 500 and 100."""

    post: PostShown
    counts: list[CountsShown]
    media: list[MediaShown]
    links: list[str]
    pages: list[PageShown]
    tags: UnderstoodShown | None
    pictures: UnderstoodShown | None
    album: UnderstoodShown | None
    album_message_ids: list[int]
    forwarded_from_title: str | None
    forwarded_by: list[ForwardShown]
    earlier_versions: int
    facts: dict[str, JsonValue]


class PieceShown(Shown):
    """A stretch of text that was kept, taken out or put in."""

    change: Change
    text: str


class VersionShown(Shown):
    """A text that the post had, and what is different from the one before; the first has nothing to differ from."""

    revision: int
    text: str
    edited_at: datetime | None
    seen_at: datetime
    replaced_at: datetime | None
    difference: list[PieceShown]


class VersionsShown(Shown):
    """The newest 50 texts of a post, in the order in which they were written; the last one is the present one."""

    items: list[VersionShown]


VERSION_EXAMPLE = {
    "revision": 2,
    "text": "Bridges open at noon",
    "edited_at": "2026-11-15T09:00:00Z",
    "seen_at": "2026-11-15T09:01:00Z",
    "replaced_at": None,
    "difference": [{"change": "same", "text": "Bridges open at "}, {"change": "removed", "text": "night"}, {"change": "added", "text": "noon"}],
}
FULL_EXAMPLE = {
    "post": POST_EXAMPLE,
    "counts": [{"seen_at": "2026-11-15T09:00:00Z", "views": 1500, "forwards": 12, "replies": 3, "reactions": {"👍": 40}}],
    "media": [],
    "links": ["https://news.example/bridges"],
    "pages": [
        {
            "url": "https://news.example/bridges",
            "status": "read",
            "title": "Bridges",
            "author": None,
            "published_at": None,
            "found_at": None,
            "excerpt": "The bridges open at night.",
            "why": None,
        }
    ],
    "tags": {"tier": "local", "provider": "local", "model": "rules", "revision": 1, "data": {"tags": ["bridges"], "topic": "city"}},
    "pictures": None,
    "album": None,
    "album_message_ids": [],
    "forwarded_from_title": None,
    "forwarded_by": [{"post_id": "1234567892/8", "channel": "Copies", "posted_at": "2026-11-15T09:30:00Z"}],
    "earlier_versions": 1,
    "facts": {"counts": {"views": 1500}},
}


@area.get("/posts/{channel_id}/{message_id}", scope=Scope.READ, example=FULL_EXAMPLE)
async def get_post(ask: Ask, channel_id: ChannelNumber, message_id: MessageNumber) -> PostInFullShown:
    """One post with everything that is known of it."""
    return _full(await post_in_full(PostId(ChannelId(channel_id), MessageId(message_id)), stores=ask.stores))


@area.get("/posts/{channel_id}/{message_id}/versions", scope=Scope.READ, example={"items": [VERSION_EXAMPLE]})
async def get_post_versions(ask: Ask, channel_id: ChannelNumber, message_id: MessageNumber) -> VersionsShown:
    """How the text of a post has changed, word by word."""
    versions = await versions_of(PostId(ChannelId(channel_id), MessageId(message_id)), stores=ask.stores)
    return VersionsShown(items=[_version(one) for one in versions])


def _full(full: PostInFull) -> PostInFullShown:
    detail = full.detail
    return PostInFullShown(
        post=post_shown(detail.stored, channel=detail.title, link=full.link),
        counts=[CountsShown.model_validate(one, from_attributes=True) for one in detail.counts],
        media=[MediaShown.model_validate(one, from_attributes=True) for one in detail.media],
        links=list(detail.links),
        pages=[PageShown.model_validate(one, from_attributes=True) for one in full.pages],
        tags=_understood(full.tags),
        pictures=_understood(full.pictures),
        album=_understood(full.album),
        album_message_ids=[int(one) for one in detail.album],
        forwarded_from_title=detail.forwarded_title,
        forwarded_by=[ForwardShown(post_id=str(one.post_id), channel=one.title, posted_at=one.posted_at) for one in detail.forwarded_by],
        earlier_versions=detail.earlier_versions,
        facts=FACTS.validate_python(detail.stored.post.facts),
    )


def _understood(result: Enrichment | None) -> UnderstoodShown | None:
    return None if result is None else UnderstoodShown.model_validate(result, from_attributes=True)


def _version(told: VersionTold) -> VersionShown:
    version = told.version
    return VersionShown(
        revision=version.revision,
        text=version.text,
        edited_at=version.edited_at,
        seen_at=version.seen_at,
        replaced_at=version.replaced_at,
        difference=[PieceShown(change=one.change, text=one.text) for one in told.pieces],
    )
