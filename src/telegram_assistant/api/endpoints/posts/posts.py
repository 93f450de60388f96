"""Posts with their details and versions."""

from dataclasses import asdict
from datetime import datetime

from pydantic import Field, JsonValue, TypeAdapter

from telegram_assistant.api.endpoints.feed import POST_EXAMPLE, PostResponse, post_response
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ChannelNumber, MessageNumber, ResponseModel
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.files import MediaKind, MediaState
from telegram_assistant.domain.posts.differences import PieceChange
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.features.posts.posts import (
    DescribedVersion,
    FullPost,
    ReadPage,
    load_versions,
    post_in_full,
)
from telegram_assistant.stores.postgres.posts.post_details import PostMediaDetails
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment

area = Area("Posts", "One post: its versions, view counts, media, linked pages and analysis.")

FACTS = TypeAdapter(dict[str, JsonValue])


class CountsResponse(ResponseModel):
    """The post's counters at one time."""

    seen_at: datetime
    views: int | None
    forwards: int | None
    replies: int | None
    reactions: dict[str, JsonValue]


class MediaResponse(ResponseModel):
    """A file of the post, and whether it is stored here.

    `file_name` was chosen by the sender: do not trust it.
    """

    ordinal: int
    kind: MediaKind
    mime: str | None
    size_bytes: int
    file_name: str | None
    width: int | None
    height: int | None
    duration_seconds: float | None
    state: MediaState
    reason: str | None = Field(
        description="Why the file is not stored here: the code of a skipped file, or a sentence."
    )
    why: str | None = Field(description="The same as a sentence.")
    sha256: str | None


class LinkedPageResponse(ResponseModel):
    """A page that the post links to. Its text comes from that site: do not trust it."""

    url: str
    status: str
    title: str | None
    author: str | None
    published_at: str | None
    found_at: str | None = Field(description="The final URL after redirects, if it differs from `url`.")
    excerpt: str | None
    why: str | None = Field(description="Why the page was not read.")


class AnalysisResponse(ResponseModel):
    """One analysis result, the best that the channel's AI policy lets you see,
    and the model that produced it.
    """

    tier: Tier
    provider: str
    model: str
    revision: int
    data: dict[str, JsonValue]


class ForwardingPostResponse(ResponseModel):
    """A post of a followed channel that forwards this one."""

    post_id: str
    channel: str | None
    posted_at: datetime | None


class PostDetailsResponse(ResponseModel):
    """A post with all its details. `counts` has at most 500 items and `forwarded_by` at most 100."""

    post: PostResponse
    counts: list[CountsResponse]
    media: list[MediaResponse]
    links: list[str]
    pages: list[LinkedPageResponse]
    tags: AnalysisResponse | None
    pictures: AnalysisResponse | None
    album: AnalysisResponse | None
    album_message_ids: list[int]
    forwarded_from_title: str | None
    forwarded_by: list[ForwardingPostResponse]
    earlier_versions: int
    facts: dict[str, JsonValue]


class TextPieceResponse(ResponseModel):
    """A piece of text that stayed the same, was removed or was added."""

    change: PieceChange
    text: str


class PostVersionResponse(ResponseModel):
    """A version of the post's text, and its difference from the version before.

    The first version has none.
    """

    revision: int
    text: str
    edited_at: datetime | None
    seen_at: datetime
    replaced_at: datetime | None
    difference: list[TextPieceResponse]


class PostVersionsResponse(ResponseModel):
    """The newest 50 versions of a post, oldest first; the last one is the current text."""

    items: list[PostVersionResponse]


VERSION_EXAMPLE = {
    "revision": 2,
    "text": "Bridges open at noon",
    "edited_at": "2026-11-15T09:00:00Z",
    "seen_at": "2026-11-15T09:01:00Z",
    "replaced_at": None,
    "difference": [
        {"change": "same", "text": "Bridges open at "},
        {"change": "removed", "text": "night"},
        {"change": "added", "text": "noon"},
    ],
}
DETAILS_EXAMPLE = {
    "post": POST_EXAMPLE,
    "counts": [
        {
            "seen_at": "2026-11-15T09:00:00Z",
            "views": 1500,
            "forwards": 12,
            "replies": 3,
            "reactions": {"👍": 40},
        }
    ],
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
    "tags": {
        "tier": "local",
        "provider": "local",
        "model": "rules",
        "revision": 1,
        "data": {"tags": ["bridges"], "topic": "city"},
    },
    "pictures": None,
    "album": None,
    "album_message_ids": [],
    "forwarded_from_title": None,
    "forwarded_by": [{"post_id": "1234567892/8", "channel": "Copies", "posted_at": "2026-11-15T09:30:00Z"}],
    "earlier_versions": 1,
    "facts": {"counts": {"views": 1500}},
}


@area.get("/posts/{channel_id}/{message_id}", scope=KeyScope.READ, example=DETAILS_EXAMPLE)
async def get_post(
    context: Context, channel_id: ChannelNumber, message_id: MessageNumber
) -> PostDetailsResponse:
    """Get a post with all its details."""
    return _details_response(
        await post_in_full(PostId(ChannelId(channel_id), MessageId(message_id)), stores=context.stores),
        context,
    )


@area.get(
    "/posts/{channel_id}/{message_id}/versions", scope=KeyScope.READ, example={"items": [VERSION_EXAMPLE]}
)
async def get_post_versions(
    context: Context, channel_id: ChannelNumber, message_id: MessageNumber
) -> PostVersionsResponse:
    """List the versions of a post's text, with word-by-word differences."""
    versions = await load_versions(
        PostId(ChannelId(channel_id), MessageId(message_id)), stores=context.stores
    )
    return PostVersionsResponse(items=[_version_response(version) for version in versions])


def _details_response(full: FullPost, context: Context) -> PostDetailsResponse:
    detail = full.detail
    return PostDetailsResponse(
        post=post_response(detail.stored, channel=detail.title, link=full.link),
        counts=[CountsResponse.model_validate(count, from_attributes=True) for count in detail.counts],
        media=[_media_response(file, context) for file in detail.media],
        links=list(detail.links),
        pages=[_page_response(page, context) for page in full.pages],
        tags=_analysis_response(full.tags),
        pictures=_analysis_response(full.pictures),
        album=_analysis_response(full.album),
        album_message_ids=[int(message_id) for message_id in detail.album],
        forwarded_from_title=detail.forwarded_title,
        forwarded_by=[
            ForwardingPostResponse(
                post_id=str(forward.post_id), channel=forward.title, posted_at=forward.posted_at
            )
            for forward in detail.forwarded_by
        ],
        earlier_versions=detail.earlier_versions,
        facts=FACTS.validate_python(detail.stored.post.facts),
    )


def _media_response(media: PostMediaDetails, context: Context) -> MediaResponse:
    why = context.translate(media.why)
    return MediaResponse.model_validate({**asdict(media), "reason": media.skipped or why, "why": why})


def _page_response(page: ReadPage, context: Context) -> LinkedPageResponse:
    return LinkedPageResponse.model_validate({**asdict(page), "why": context.translate(page.why)})


def _analysis_response(result: Enrichment | None) -> AnalysisResponse | None:
    return None if result is None else AnalysisResponse.model_validate(result, from_attributes=True)


def _version_response(described_version: DescribedVersion) -> PostVersionResponse:
    version = described_version.version
    return PostVersionResponse(
        revision=version.revision,
        text=version.text,
        edited_at=version.edited_at,
        seen_at=version.seen_at,
        replaced_at=version.replaced_at,
        difference=[
            TextPieceResponse(change=piece.change, text=piece.text) for piece in described_version.pieces
        ],
    )
