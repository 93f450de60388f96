"""Copies of stories, posts and digests, and public links to them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Path, Query
from pydantic import ConfigDict, Field

from telegram_assistant.api.endpoints.posts.changes import LastDay
from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ChannelNumber, MessageNumber, RequestModel, ResponseModel, Storable
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.sharing.content import SharedContent
from telegram_assistant.domain.sharing.links import MAX_DAYS, MIN_DAYS, USUAL_DAYS, PublicLink, PublicLinkKind
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.posts.caught import caught_changes
from telegram_assistant.features.sharing import public_links
from telegram_assistant.features.sharing.caught import caught_content
from telegram_assistant.features.sharing.content import share_digest, share_post, share_story
from telegram_assistant.features.sharing.formats import SHARE_FILES, ShareFormat, write_content

area = Area(
    "Sharing",
    "Copies with sources (channel, time, link, revision, hash of each post's text), and public links.",
)

MAX_REVISION = 2**31 - 1
EXAMPLE = {
    "format": "markdown",
    "media_type": "text/markdown",
    "text": (
        "# The bridge is closed to trucks until April [\\[1\\]](https://t.me/citynews/42)\n\n## Sources\n\n"
        "- \\[1\\] [City news](https://t.me/citynews/42), 2026-11-15 08:00:00 UTC, revision 1, SHA-256 "
        "5f0c8a2d4b7e9136c1f2a3b4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708\n"
    ),
}

Format = Annotated[ShareFormat, Query(alias="format", description="`text`, `markdown`, `csv` or `json`.")]
LINK_EXAMPLE = {
    "link_id": "0b5c1f0e-2d5b-4b5e-8a53-6f1d2f8f9f13",
    "kind": "story",
    "subject": "1234567890/42",
    "created_at": "2026-11-15T10:00:00Z",
    "expires_at": "2026-11-22T10:00:00Z",
}
LinkId = Annotated[UUID, Path(description="A public link of your own.")]


class PublicLinkResponse(ResponseModel):
    """A public link, without its secret."""

    link_id: UUID
    kind: PublicLinkKind
    subject: str = Field(description="The id of a post of the story, or of the digest.")
    created_at: datetime
    expires_at: datetime


class PublicLinksResponse(ResponseModel):
    """Public links that still work, newest first."""

    items: list[PublicLinkResponse]


class PublicLinkRequest(RequestModel):
    """The story or digest that a link shows, and the number of days for which the link works."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"kind": "story", "subject": "1234567890/42", "days": 7}]}
    )

    kind: PublicLinkKind
    subject: Storable = Field(max_length=100, description="The id of a post of the story, or of a digest.")
    days: int = Field(default=USUAL_DAYS, ge=MIN_DAYS, le=MAX_DAYS)


class CreatedPublicLinkResponse(ResponseModel):
    """A new link. Its address is shown only once."""

    link: PublicLinkResponse
    url: str
    private_channels: list[str] = Field(
        description="Titles of private channels of which the link shows posts now."
    )


class ExportResponse(ResponseModel):
    """A copy. `text` is the content of a file of this media type, in UTF-8."""

    format: ShareFormat
    media_type: str
    text: str = Field(description="CSV and JSON hold all posts, text and Markdown those that are cited.")


@area.get("/stories/{channel_id}/{message_id}/export", scope=KeyScope.READ, example=EXAMPLE)
async def export_story(
    context: Context,
    channel_id: ChannelNumber,
    message_id: MessageNumber,
    share_format: Format = ShareFormat.MARKDOWN,
) -> ExportResponse:
    """Export the story of a post with its sources."""
    post_id = PostId(ChannelId(channel_id), MessageId(message_id))
    content = await share_story(post_id, stores=context.stores, language=context.language)
    return _response(context, content, share_format)


@area.get("/posts/{channel_id}/{message_id}/export", scope=KeyScope.READ, example=EXAMPLE)
async def export_post(
    context: Context,
    channel_id: ChannelNumber,
    message_id: MessageNumber,
    share_format: Format = ShareFormat.MARKDOWN,
    revision: Annotated[
        int | None,
        Query(
            ge=1,
            le=MAX_REVISION,
            description="This text and the one that replaced it. Default: the text now.",
        ),
    ] = None,
) -> ExportResponse:
    """Export a post word for word, or a quiet change of it."""
    post_id = PostId(ChannelId(channel_id), MessageId(message_id))
    content = await share_post(post_id, stores=context.stores, revision=revision)
    return _response(context, content, share_format)


@area.get("/digests/{digest_id}/export", scope=KeyScope.READ, example=EXAMPLE)
async def export_digest(
    context: Context,
    digest_id: Annotated[UUID, Path(description="A digest of your own.")],
    share_format: Format = ShareFormat.MARKDOWN,
) -> ExportResponse:
    """Export a digest of your own, without what your channels no longer show."""
    return _response(context, await share_digest(digest_id, own=context.own), share_format)


@area.get("/changes/caught/export", scope=KeyScope.READ, example=EXAMPLE)
async def export_caught_changes(
    context: Context, last_day: LastDay = None, share_format: Format = ShareFormat.MARKDOWN
) -> ExportResponse:
    """Export the five quiet changes of a week with the most views, each with the texts before and after."""
    caught = await caught_changes(last_day or context.now.date(), stores=context.stores)
    return _response(context, caught_content(caught), share_format)


@area.get("/public-links", scope=KeyScope.READ, example={"items": [LINK_EXAMPLE]})
async def list_public_links(context: Context) -> PublicLinksResponse:
    """List your public links that still work, without their secrets."""
    links = await public_links.list_links(own=context.own)
    return PublicLinksResponse(items=[_link_response(link) for link in links])


@area.post(
    "/public-links",
    scope=KeyScope.WRITE,
    example={
        "link": LINK_EXAMPLE,
        "url": "https://news.example/s/share_hK3f9aYw0Xr8m1cJ2vQ6sT4nB7pL5dZxGuEiOaRk3Fh",
        "private_channels": [],
    },
    status=201,
    also=(404,),
    is_secret=True,
)
async def create_public_link(context: Context, body: PublicLinkRequest) -> CreatedPublicLinkResponse:
    """Make a link that shows a story or a digest of yours to everybody who has it.

    It shows what you see when it is opened, posts of private channels as well. It ends when you revoke it,
    after its days, and with your membership or your right to change things.
    """
    created_link = await public_links.create_link(
        body.kind, body.subject, days=body.days, stores=context.stores, own=context.own
    )
    context.note(kind=body.kind, subject=body.subject, link=str(created_link.link.link_id), days=body.days)
    return CreatedPublicLinkResponse(
        link=_link_response(created_link.link),
        url=f"{context.app.settings.pages_url}{created_link.path}",
        private_channels=list(created_link.private_channels),
    )


@area.delete("/public-links/{link_id}", scope=KeyScope.WRITE)
async def revoke_public_link(context: Context, link_id: LinkId) -> None:
    """Revoke a public link of yours. It stops working at once."""
    await public_links.revoke_link(link_id, own=context.own)


def _link_response(link: PublicLink) -> PublicLinkResponse:
    return PublicLinkResponse(
        link_id=link.link_id,
        kind=link.kind,
        subject=link.subject,
        created_at=link.created_at,
        expires_at=link.expires_at,
    )


def _response(context: Context, content: SharedContent, share_format: ShareFormat) -> ExportResponse:
    return ExportResponse(
        format=share_format,
        media_type=SHARE_FILES[share_format].media_type,
        text=write_content(content, share_format, language=context.language),
    )
