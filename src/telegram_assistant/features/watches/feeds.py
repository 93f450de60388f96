"""RSS and Atom feeds at secret addresses: they list what their tenant, or the person, sees at that moment."""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

from telegram_assistant.domain.ids import PostId, TenantId, UserId
from telegram_assistant.domain.people.person import new_token
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.errors import Conflicting, Missing
from telegram_assistant.features.digests.delivery import DigestReader, title_and_text
from telegram_assistant.features.search.search import search
from telegram_assistant.features.stories.stories import MAX_AGE, recent_stories, visible_story
from telegram_assistant.features.stories.telling import tell, words_of
from telegram_assistant.features.watches.alerts import link_of_alert, newest_alerts
from telegram_assistant.features.watches.headlines import headline_of
from telegram_assistant.features.watches.watches import NO_WATCH
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.search.search import FAR_FUTURE, SearchFilters, SearchPosition
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores
from telegram_assistant.stores.postgres.watches.feed_addresses import FeedAddress, FeedDirectory, FeedKind, FoundFeed
from telegram_assistant.translation import ENGLISH, say

ENTRIES = 50
ALL_STORIES = "all"
"""The subject of a feed of all stories, as the page Today lists them."""
OWN_DIGESTS = "me"
"""The subject of a feed of one's own digests."""
MAX_ID = 2**63 - 1
MAX_TITLE_LETTERS = 100
NO_FEED = Reason("feed_unknown", "there is no feed at this address; it may have been revoked")
NOTHING_TO_LIST = Reason("feed_subject_unknown", "there is no such watch, folder, saved search or story")


@dataclass(frozen=True, slots=True)
class SyndicatedEntry:
    """One item of a feed. `entry_id` never changes."""

    entry_id: str
    title: str
    text: str
    link: str
    at: datetime
    author: str


@dataclass(frozen=True, slots=True)
class FeedContent:
    """A feed, newest entry first."""

    title: str
    feed_id: str
    entries: tuple[SyndicatedEntry, ...]

    @property
    def updated_at(self) -> datetime:
        return max((one.at for one in self.entries), default=datetime(2026, 1, 1, tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class CreatedFeed:
    """A new address. Its token is shown only once."""

    address: FeedAddress
    token: str


async def create_feed(
    kind: FeedKind, subject: str, *, stores: TenantStores, created_by: str, user_id: UserId | None = None, language: str = ENGLISH
) -> CreatedFeed:
    """Makes a secret address. Raises Missing if there is nothing to list.

    A feed of digests (subject OWN_DIGESTS) belongs to the person who makes it, and stops working when they leave the tenant.
    """
    if kind is FeedKind.DIGEST:
        if user_id is None or subject != OWN_DIGESTS:
            raise Missing(NOTHING_TO_LIST)
        subject, name, owner = str(uuid4()), say(Reason("digest_feed_name", "Digests of {person}", person=created_by), language), user_id
    else:
        name, owner = await _name_of(kind, subject, stores, language), None
    token = f"feed_{new_token()}"
    address_id = await stores.feed_addresses.create(token, kind, subject, name, created_by=created_by, user_id=owner)
    if address_id is None:
        raise Conflicting(Reason("feeds_too_many", "there are too many feed addresses; revoke one first"))
    return CreatedFeed(next(one for one in await stores.feed_addresses.all() if one.address_id == address_id), token)


async def revoke_feed(address_id: UUID, *, stores: TenantStores) -> None:
    """The address stops working at once."""
    if not await stores.feed_addresses.revoke(address_id):
        raise Missing(Reason("feed_address_unknown", "there is no such feed address"))


async def find_feed(token: str, *, directory: FeedDirectory) -> FoundFeed:
    found = await directory.find(token)
    if found is None:
        raise Missing(NO_FEED)
    return found


async def read_feed(found: FoundFeed, *, stores: TenantStores, own: PersonStores | None, now: datetime, base_url: str) -> FeedContent:
    """What the feed lists now. Raises Missing if what it lists has been deleted."""
    match found.kind:
        case FeedKind.WATCH:
            entries = await _alerts(_id_of(found.subject), stores)
        case FeedKind.FOLDER:
            entries = await _folder(found.subject, stores)
        case FeedKind.SEARCH:
            entries = await _search(_id_of(found.subject), found.tenant_id, stores, now)
        case FeedKind.STORY if found.subject == ALL_STORIES:
            entries = await _stories(stores, now)
        case FeedKind.STORY:
            entries = await _story(_post_of(found.subject), stores)
        case FeedKind.DIGEST if own is not None:
            entries = await _digests(own, f"{base_url}/t/{found.tenant}", found.language or ENGLISH)
        case FeedKind.DIGEST:
            raise Missing(NOTHING_TO_LIST)
    return FeedContent(found.name, f"{found.kind.value}:{found.subject}", tuple(sorted(entries, key=lambda one: one.at, reverse=True)))


async def _name_of(kind: FeedKind, subject: str, stores: TenantStores, language: str) -> str:
    match kind:
        case FeedKind.WATCH:
            watch = await stores.watches.one(_id_of(subject))
            name = watch.name if watch else None
        case FeedKind.FOLDER:
            name = next((one.folder for one in await stores.followed.channels() if one.folder == subject), None)
        case FeedKind.SEARCH:
            name = next((one.name for one in await stores.saved_searches.all() if one.search_id == _id_of(subject)), None)
        case FeedKind.STORY if subject == ALL_STORIES:
            name = say(Reason("stories_feed_name", "Stories of your channels"), language)
        case FeedKind.STORY:
            story = await visible_story(_post_of(subject), stores=stores)
            name = tell(story).headline or story.first.channel
        case FeedKind.DIGEST:
            name = None
    if name is None:
        raise Missing(NOTHING_TO_LIST)
    return name


async def _digests(own: PersonStores, here: str, language: str) -> list[SyndicatedEntry]:
    reader = DigestReader(here=here, language=language, zone=ZoneInfo((await own.digests.plan()).zone))
    told = [one for one in await own.digests.newest(limit=ENTRIES) if one.digest.stories]
    return [
        SyndicatedEntry(f"digest:{one.digest_id}", *title_and_text(one.digest, reader=reader), f"{here}/digest/{one.digest_id}", one.made_at, "")
        for one in told
    ]


async def _alerts(watch_id: UUID, stores: TenantStores) -> list[SyndicatedEntry]:
    if await stores.watches.one(watch_id) is None:
        raise Missing(NO_WATCH)
    page = await newest_alerts(stores=stores, limit=ENTRIES, watch_id=watch_id)
    return [
        SyndicatedEntry(f"alert:{one.alert_id}", str(headline_of(one)), one.text, link_of_alert(one), one.created_at, one.channel)
        for one in page.alerts
    ]


async def _folder(folder: str, stores: TenantStores) -> list[SyndicatedEntry]:
    channels = {one.channel_id: one for one in await stores.followed.channels() if one.folder == folder and one.active}
    if not channels:
        raise Missing(NOTHING_TO_LIST)
    matches = await stores.words.find((), SearchFilters(channels=tuple(channels), with_ads=True), before=SearchPosition(FAR_FUTURE), most=ENTRIES)
    posts = (await stores.words.load([one.post_id for one in matches.found], channel_ids=())).posts
    shown = [(one.post, channels[one.post.channel_id]) for one in posts.values()]
    return [_entry(post.id, post.text, channel.username, post.posted_at, channel.title) for post, channel in shown]


async def _search(search_id: UUID, tenant_id: TenantId, stores: TenantStores, now: datetime) -> list[SyndicatedEntry]:
    saved = next((one for one in await stores.saved_searches.all() if one.search_id == search_id), None)
    if saved is None:
        raise Missing(NOTHING_TO_LIST)
    page = await search(saved.query, tenant_id=tenant_id, stores=stores, index=None, now=now, limit=ENTRIES)
    return [SyndicatedEntry(f"post:{one.post_id}", _title(one.text), one.text, one.link, one.posted_at, one.channel) for one in page.found]


async def _stories(stores: TenantStores, now: datetime) -> list[SyndicatedEntry]:
    found = await recent_stories(now - MAX_AGE, stores=stores, now=now, limit=ENTRIES)
    return [
        SyndicatedEntry(
            f"story:{one.story.story_id}",
            one.telling.headline or one.story.first.channel,
            " ".join(sentence.text for sentence in one.telling.sentences),
            one.story.first.link,
            one.story.newest.posted_at,
            ", ".join(post.channel for post in one.story.first_of_channels),
        )
        for one in found.stories
    ]


async def _story(post_id: PostId, stores: TenantStores) -> list[SyndicatedEntry]:
    story = await visible_story(post_id, stores=stores)
    newest = [post for post in story.entries if post.deleted_at is None][-ENTRIES:]
    return [
        SyndicatedEntry(f"post:{post.post_id}", _title(words_of(post)) or post.channel, post.text, post.link, post.posted_at, post.channel)
        for post in newest
    ]


def _entry(post_id: PostId, text: str, username: str | None, at: datetime, channel: str) -> SyndicatedEntry:
    return SyndicatedEntry(f"post:{post_id}", _title(text) or channel, text, link_to(post_id, username), at, channel)


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
