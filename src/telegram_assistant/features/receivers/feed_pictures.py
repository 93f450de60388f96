"""Pictures of feeds: each opens at an address of its own, without a login and without the secret of its feed.

The address is signed. The key comes from the hash of the feed's token and from SECRET_KEY, so that neither a
copy of the database nor the address of a picture gives away another one. A revoked feed takes its pictures
with it.
"""

import base64
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.media.showing import MediaUnavailable, ThumbnailSize
from telegram_assistant.errors import Missing
from telegram_assistant.features.media.media import OpenedMedia, open_thumbnail
from telegram_assistant.features.media.thumbnails import Thumbnails
from telegram_assistant.features.receivers.rss_feeds import ALL_STORIES
from telegram_assistant.features.stories.stories import visible_story
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.files import Files
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedDirectory, FeedKind, FoundFeed
from telegram_assistant.stores.postgres.receivers.feed_posts import FeedPicture, PostWithAlbum
from telegram_assistant.stores.postgres.stores import TenantStores

SIZE = ThumbnailSize.MEDIUM
"""A thumbnail is made anew in a sandbox: the program that shows a
feed gets no file as a stranger has written it.
"""
NO_PICTURE = Reason(
    "feed_picture_unknown",
    "there is no picture at this address; the feed may have been revoked, or the post deleted",
)


def sign_picture(feed: FoundFeed, picture: FeedPicture, *, secret_key: bytes) -> str:
    """Returns the signature that opens this picture of this feed, and nothing else."""
    key = hmac.digest(secret_key, b"pictures of the feed " + feed.hash, "sha256")
    signed_bytes = hmac.digest(
        key, f"{feed.address_id} {picture.post_id} {picture.ordinal}".encode(), "sha256"
    )
    return base64.urlsafe_b64encode(signed_bytes).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureOpener:
    """The stores and the secret key that opening a picture needs."""

    directory: FeedDirectory
    tenant: Callable[[TenantId], TenantStores]
    files: Files | None
    thumbnails: Thumbnails | None
    secret_key: bytes


async def open_picture(
    address_id: UUID, picture: FeedPicture, signature: str, *, opener: PictureOpener
) -> OpenedMedia:
    """Raises Missing unless the feed works, has listed the picture, and still covers its post,
    which the tenant sees now.
    """
    feed = await opener.directory.find_by_id(address_id)
    if feed is None or not hmac.compare_digest(
        sign_picture(feed, picture, secret_key=opener.secret_key).encode(), signature.encode()
    ):
        raise Missing(NO_PICTURE)
    stores = opener.tenant(feed.tenant_id)
    post = (await stores.feed_posts.load([picture.post_id])).get(picture.post_id)
    if post is None or picture not in post.pictures or not await _is_covered(feed, post, stores):
        raise Missing(NO_PICTURE)
    try:
        return await open_thumbnail(
            picture.post_id,
            picture.ordinal,
            SIZE,
            stores=stores,
            files=opener.files,
            thumbnails=opener.thumbnails,
        )
    except MediaUnavailable as error:
        raise Missing(NO_PICTURE) from error


async def _is_covered(feed: FoundFeed, post: PostWithAlbum, stores: TenantStores) -> bool:
    if feed.kind is not FeedKind.STORY:
        return await stores.feed_posts.is_covered(post, kind=feed.kind, subject=feed.subject)
    if feed.subject == ALL_STORIES:
        return True
    try:
        story = await visible_story(PostId.parse(feed.subject), stores=stores)
    except Missing:
        return False
    return not {part.post_id for part in story.posts}.isdisjoint(post.parts)
