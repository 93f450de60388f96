"""Feeds at secret addresses: they list what their tenant, or the person, sees at that moment."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import quote
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from telegram_assistant.domain.ids import PostId, TenantId, UserId
from telegram_assistant.domain.people.person import new_token
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.domain.search.query import SearchOrder
from telegram_assistant.errors import Busy, Conflicting, Missing
from telegram_assistant.features.digests.letters import DigestReader, title_text_and_html
from telegram_assistant.features.search.search import search
from telegram_assistant.features.stories.stories import MAX_AGE, recent_stories, visible_story
from telegram_assistant.features.stories.telling import first_sentence, tell
from telegram_assistant.features.watches.alerts import link_of_alert, newest_alerts
from telegram_assistant.features.watches.headlines import headline_of
from telegram_assistant.features.watches.watches import NO_WATCH
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.receivers.feed_addresses import (
    FeedAddress,
    FeedDirectory,
    FeedKind,
    FoundFeed,
)
from telegram_assistant.stores.postgres.receivers.feed_posts import FeedPicture, PostWithAlbum
from telegram_assistant.stores.postgres.search.search import FAR_FUTURE, SearchFilters, SearchPosition
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores
from telegram_assistant.stores.postgres.watches.alerts import Alert
from telegram_assistant.stores.redis.feed_versions import FeedVersions
from telegram_assistant.translation import ENGLISH, translate

ENTRIES = 50
PATIENCE = timedelta(seconds=1)
"""For the posts of a folder: nobody waits at a screen, and an empty feed would be wrong."""
MAX_PAGES = 20
"""Of a search: each has some milliseconds, and a busy server finds little in them."""
REDIS_SECONDS = 1.0
ALL_STORIES = "all"
"""The subject of a feed of all stories, as the page Today lists them."""
OWN_DIGESTS = "me"
"""The subject of a feed of one's own digests."""
MAX_ID = 2**63 - 1
MAX_TITLE_LETTERS = 100
NO_FEED = Reason("feed_unknown", "there is no feed at this address; it may have been revoked")
NOTHING_TO_LIST = Reason("feed_subject_unknown", "there is no such watch, folder, saved search or story")


@dataclass(frozen=True, slots=True, kw_only=True)
class SyndicatedEntry:
    """One item of a feed. `entry_id` never changes."""

    entry_id: str
    title: str
    text: str
    link: str
    at: datetime
    changed_at: datetime
    author: str
    entities: tuple[TextEntity, ...] = ()
    html: str = ""
    """Finished HTML of content that is not the text of a post."""
    pictures: tuple[FeedPicture, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedContent:
    """A feed, newest entry first."""

    title: str
    feed_id: str
    language: str
    page: str
    """The address of our page that shows the same, for people who are logged in."""
    entries: tuple[SyndicatedEntry, ...]

    @property
    def updated_at(self) -> datetime:
        return max((entry.changed_at for entry in self.entries), default=datetime(2026, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class CreatedFeed:
    """A new address. Its token is shown only once."""

    address: FeedAddress
    token: str


async def list_feeds(*, stores: TenantStores) -> tuple[FeedAddress, ...]:
    """All addresses of feeds of the tenant, newest first."""
    return await stores.feed_addresses.all()


async def create_feed(
    kind: FeedKind,
    subject: str,
    *,
    stores: TenantStores,
    created_by: str,
    user_id: UserId | None = None,
    language: str = ENGLISH,
) -> CreatedFeed:
    """Makes a secret address. Raises Missing if there is nothing to list.

    A feed of digests (subject OWN_DIGESTS) belongs to the person who makes it, and stops working when they
    leave the tenant.
    """
    if kind is FeedKind.DIGEST:
        if user_id is None or subject != OWN_DIGESTS:
            raise Missing(NOTHING_TO_LIST)
        subject, name, owner_id = (
            str(uuid4()),
            translate(Reason("digest_feed_name", "Digests of {person}", person=created_by), language),
            user_id,
        )
    else:
        name, owner_id = await _load_name(kind, subject, stores, language), None
    token = f"feed_{new_token()}"
    address_id = await stores.feed_addresses.create(
        token, kind, subject, name, created_by=created_by, user_id=owner_id, language=language
    )
    if address_id is None:
        raise Conflicting(Reason("feeds_too_many", "there are too many feed addresses; revoke one first"))
    return CreatedFeed(
        next(
            feed_address
            for feed_address in await stores.feed_addresses.all()
            if feed_address.address_id == address_id
        ),
        token,
    )


async def revoke_feed(address_id: UUID, *, stores: TenantStores) -> None:
    """The address stops working at once."""
    if not await stores.feed_addresses.revoke(address_id):
        raise Missing(Reason("feed_address_unknown", "there is no such feed address"))


async def find_feed(token: str, *, directory: FeedDirectory) -> FoundFeed:
    feed = await directory.find(token)
    if feed is None:
        raise Missing(NO_FEED)
    return feed


async def read_feed(
    feed: FoundFeed, *, stores: TenantStores, own: PersonStores | None, now: datetime, base_url: str
) -> FeedContent:
    """The current entries of the feed. Raises Missing if the subject of the feed has been deleted."""
    tenant_url = f"{base_url}/t/{feed.tenant}"
    match feed.kind:
        case FeedKind.WATCH:
            page, entries = "/alerts", await _alerts(_id_of(feed.subject), feed.language, stores)
        case FeedKind.FOLDER:
            page, entries = (
                f"/feed?folder={quote(feed.subject, safe='')}",
                await _folder(feed.subject, stores),
            )
        case FeedKind.SEARCH:
            page, entries = "/search", await _search(_id_of(feed.subject), feed.tenant_id, stores, now)
        case FeedKind.STORY if feed.subject == ALL_STORIES:
            page, entries = "/today", await _stories(stores, now)
        case FeedKind.STORY:
            page, entries = f"/story/{feed.subject}", await _story(_post_of(feed.subject), stores)
        case FeedKind.DIGEST if own is not None:
            page, entries = "/digest", await _digests(own, tenant_url, feed.language)
        case FeedKind.DIGEST:
            raise Missing(NOTHING_TO_LIST)
    return FeedContent(
        title=feed.name,
        feed_id=f"{feed.kind.value}:{feed.subject}",
        language=feed.language,
        page=f"{tenant_url}{page}",
        entries=tuple(sorted(entries, key=lambda entry: (entry.at, entry.entry_id), reverse=True)),
    )


async def find_change(
    feed: FoundFeed, kind: str, etag: str, *, versions: FeedVersions, now: datetime
) -> datetime | None:
    """When this file of the feed became what it is.

    None while Redis is away: then readers compare the ETag only.
    """
    try:
        async with asyncio.timeout(REDIS_SECONDS):
            return await versions.since(feed.address_id, kind, etag, now=now)
    except (Busy, TimeoutError):
        return None


async def _load_name(kind: FeedKind, subject: str, stores: TenantStores, language: str) -> str:
    match kind:
        case FeedKind.WATCH:
            watch = await stores.watches.one(_id_of(subject))
            name = watch.name if watch else None
        case FeedKind.FOLDER:
            name = next(
                (channel.folder for channel in await stores.followed.channels() if channel.folder == subject),
                None,
            )
        case FeedKind.SEARCH:
            name = next(
                (
                    saved_search.name
                    for saved_search in await stores.saved_searches.all()
                    if saved_search.search_id == _id_of(subject)
                ),
                None,
            )
        case FeedKind.STORY if subject == ALL_STORIES:
            name = translate(Reason("stories_feed_name", "Stories of your channels"), language)
        case FeedKind.STORY:
            story = await visible_story(_post_of(subject), stores=stores)
            name = tell(story).headline or story.first.channel
        case FeedKind.DIGEST:
            name = None
    if name is None:
        raise Missing(NOTHING_TO_LIST)
    return name


async def _digests(own: PersonStores, tenant_url: str, language: str) -> list[SyndicatedEntry]:
    zone = ZoneInfo((await own.digests.plan()).zone)
    reader = DigestReader(tenant_url=tenant_url, language=language, zone=zone)
    entries = []
    for stored_digest in await own.digests.newest(limit=ENTRIES):
        if stored_digest.digest.stories:
            title, text, html = title_text_and_html(stored_digest.digest, reader=reader)
            entries.append(
                SyndicatedEntry(
                    entry_id=f"digest:{stored_digest.digest_id}",
                    title=title,
                    text=text,
                    html=html,
                    link=f"{tenant_url}/digest/{stored_digest.digest_id}",
                    at=stored_digest.made_at,
                    changed_at=stored_digest.made_at,
                    author="",
                )
            )
    return entries


async def _alerts(watch_id: UUID, language: str, stores: TenantStores) -> list[SyndicatedEntry]:
    """A deleted post has no pictures any more, and of its text what the alert shows of it."""
    if await stores.watches.one(watch_id) is None:
        raise Missing(NO_WATCH)
    alerts = (await newest_alerts(stores=stores, limit=ENTRIES, watch_id=watch_id)).alerts
    posts = await stores.feed_posts.load([alert.post_id for alert in alerts if alert.post_id])
    return [
        _alert_entry(alert, posts.get(alert.post_id) if alert.post_id else None, language) for alert in alerts
    ]


def _alert_entry(alert: Alert, post: PostWithAlbum | None, language: str) -> SyndicatedEntry:
    entry = SyndicatedEntry(
        entry_id=f"alert:{alert.alert_id}",
        title=translate(headline_of(alert), language),
        text=alert.text,
        link=link_of_alert(alert),
        at=alert.created_at,
        changed_at=alert.created_at,
        author=alert.channel,
    )
    if post is None:
        return entry
    return replace(
        entry,
        text=post.text,
        entities=post.entities,
        pictures=post.pictures,
        changed_at=max(entry.at, post.changed_at),
    )


async def _folder(folder: str, stores: TenantStores) -> list[SyndicatedEntry]:
    channel_ids = [
        channel.channel_id
        for channel in await stores.followed.channels()
        if channel.folder == folder and channel.active
    ]
    if not channel_ids:
        raise Missing(NOTHING_TO_LIST)
    matches = await stores.words.find(
        (),
        SearchFilters(channels=tuple(channel_ids), with_ads=True),
        before=SearchPosition(FAR_FUTURE),
        max_rows=ENTRIES,
        budget=PATIENCE,
    )
    return await _posts([match.post_id for match in matches.complete], stores)


async def _search(
    search_id: UUID, tenant_id: TenantId, stores: TenantStores, now: datetime
) -> list[SyndicatedEntry]:
    saved = next(
        (
            saved_search
            for saved_search in await stores.saved_searches.all()
            if saved_search.search_id == search_id
        ),
        None,
    )
    if saved is None:
        raise Missing(NOTHING_TO_LIST)
    post_ids: list[PostId] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await search(
            saved.query,
            tenant_id=tenant_id,
            stores=stores,
            index=None,
            now=now,
            limit=ENTRIES - len(post_ids),
            cursor=cursor,
            order=SearchOrder.NEWEST,
        )
        post_ids += [result.post_id for result in page.results]
        cursor = page.cursor
        if cursor is None or len(post_ids) >= ENTRIES:
            break
    return await _posts(post_ids, stores)


async def _stories(stores: TenantStores, now: datetime) -> list[SyndicatedEntry]:
    """Each with the pictures of its first post."""
    stories = (await recent_stories(now - MAX_AGE, stores=stores, now=now, limit=ENTRIES)).stories
    posts = await stores.feed_posts.load([listed_story.story.first.post_id for listed_story in stories])
    return [
        SyndicatedEntry(
            entry_id=f"story:{listed_story.story.story_id}",
            title=listed_story.telling.headline or listed_story.story.first.channel,
            text=" ".join(sentence.text for sentence in listed_story.telling.sentences),
            link=listed_story.story.first.link,
            at=listed_story.story.newest.posted_at,
            changed_at=listed_story.story.newest.posted_at,
            author=", ".join(post.channel for post in listed_story.story.first_of_channels),
            pictures=first.pictures if (first := posts.get(listed_story.story.first.post_id)) else (),
        )
        for listed_story in stories
    ]


async def _story(post_id: PostId, stores: TenantStores) -> list[SyndicatedEntry]:
    story = await visible_story(post_id, stores=stores)
    newest = [post.post_id for post in story.entries if post.deleted_at is None][-ENTRIES:]
    return await _posts(newest, stores, heading_of=first_sentence)


async def _posts(
    post_ids: Sequence[PostId], stores: TenantStores, *, heading_of: Callable[[str], str] = str
) -> list[SyndicatedEntry]:
    """An album is one entry, which has the id of its first post."""
    albums = {post.post_id: post for post in (await stores.feed_posts.load(post_ids)).values()}
    return [
        SyndicatedEntry(
            entry_id=f"post:{post_id}",
            title=_title(heading_of(post.text)) or post.channel,
            text=post.text,
            link=link_to(post_id, post.username),
            at=post.posted_at,
            changed_at=post.changed_at,
            author=post.channel,
            entities=post.entities,
            pictures=post.pictures,
        )
        for post_id, post in albums.items()
    ]


def _title(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= MAX_TITLE_LETTERS else line[: MAX_TITLE_LETTERS - 1] + "…"


def _id_of(subject: str) -> UUID:
    try:
        return UUID(subject)
    except ValueError as error:
        raise Missing(NOTHING_TO_LIST) from error


def _post_of(subject: str) -> PostId:
    try:
        post_id = PostId.parse(subject)
    except ValueError as error:
        raise Missing(NOTHING_TO_LIST) from error
    if max(post_id.channel_id, post_id.message_id) > MAX_ID:
        raise Missing(NOTHING_TO_LIST)
    return post_id
