"""The feed as a person reads it: albums together, copies folded, muted words set aside,
and what is new since the last visit.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.people.person import FeedOrder
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.posts.near_copies import MIN_WORDS, fold_text
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.feed.choices import Mutes, ReadingVisit
from telegram_assistant.stores.postgres.feed.person_feed import FeedSurroundings, ReadingPost, ReadingScope
from telegram_assistant.stores.postgres.feed.tenant_feed import Cursor, cursor_of
from telegram_assistant.stores.postgres.stores import PersonStores

MAX_ALBUM = 10
MAX_WORD_LETTERS = 60


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One card of the feed: a post or an album, with the copies of it that are folded away."""

    posts: tuple[ReadingPost, ...]
    copies: tuple["FeedEntry", ...] = ()
    muted_word: str | None = None
    """The person's own word that sets this entry aside."""

    @property
    def lead(self) -> ReadingPost:
        """The post that carries the text; the first one if none does."""
        return next((post for post in self.posts if post.stored.post.text), self.posts[0])

    @property
    def link(self) -> str:
        return link_to(self.lead.stored.post.id, self.lead.username)

    @property
    def is_read(self) -> bool:
        return all(post.is_read for post in self.posts)

    @property
    def is_saved(self) -> bool:
        return any(post.saved_at for post in self.posts)

    @property
    def all_posts(self) -> tuple[ReadingPost, ...]:
        """Its posts and those of its copies: what is marked when it is marked."""
        return (*self.posts, *(post for copy in self.copies for post in copy.posts))


@dataclass(frozen=True, slots=True)
class ReadingPage:
    """A page of the feed; `next` is None on the last page."""

    entries: tuple[FeedEntry, ...]
    next: Cursor | None


async def read_feed(
    scope: ReadingScope,
    *,
    order: FeedOrder,
    own: PersonStores,
    mutes: Mutes,
    limit: int,
    after: Cursor | None = None,
) -> ReadingPage:
    """Returns about `limit` posts: an album is never cut in two."""
    posts = await own.reading.page(scope, order=order, limit=limit + MAX_ALBUM, after=after)
    cut = _whole_albums(posts, limit)
    return ReadingPage(
        entries_of(posts[:cut], mutes), cursor_of(posts[cut - 1].stored) if len(posts) > cut else None
    )


def entries_of(posts: Sequence[ReadingPost], mutes: Mutes) -> tuple[FeedEntry, ...]:
    """Puts albums together, folds copies under the first of them, and marks what holds a muted word."""
    by_text: dict[str, int] = {}
    entries: list[FeedEntry] = []
    for entry in _albums(posts):
        key = _copy_key(entry)
        if key is not None and key in by_text:
            first_entry = entries[by_text[key]]
            entries[by_text[key]] = replace(first_entry, copies=(*first_entry.copies, entry))
            continue
        if key is not None:
            by_text[key] = len(entries)
        entries.append(replace(entry, muted_word=find_muted_word(entry.lead.stored.post.text, mutes.words)))
    return tuple(entries)


async def mark(post_ids: Iterable[PostId], *, own: PersonStores, as_read: bool) -> int:
    """Marks posts as read or unread. Returns how many have changed."""
    messages: dict[ChannelId, list[MessageId]] = {}
    for post_id in post_ids:
        messages.setdefault(post_id.channel_id, []).append(post_id.message_id)
    return await (own.ledger.mark_read(messages) if as_read else own.ledger.mark_unread(messages))


async def begin_visit(*, own: PersonStores, now: datetime) -> ReadingVisit:
    """Notes that the person is here; returns when they were here before, and what they have muted."""
    return await own.choices.visit(now)


async def feed_surroundings(*, own: PersonStores) -> FeedSurroundings:
    return await own.reading.surroundings()


async def read_posts(post_ids: Sequence[PostId], *, own: PersonStores) -> tuple[ReadingPost, ...]:
    """Posts as the person reads them; those that they do not see are left out."""
    return await own.reading.some(post_ids)


async def count_new_posts(scope: ReadingScope, *, since: datetime, own: PersonStores) -> int:
    return await own.reading.count_new(scope, since=since)


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A page of saved posts, the last saved first; `next` is None on the last page."""

    entries: tuple[FeedEntry, ...]
    next: datetime | None


async def saved_posts(*, own: PersonStores, limit: int, before: datetime | None = None) -> SavedPage:
    posts = await own.reading.list_saved(limit=limit + 1, before=before)
    next_before = posts[limit - 1].saved_at if len(posts) > limit else None
    return SavedPage(entries_of(posts[:limit], Mutes()), next_before)


async def save_posts(post_ids: Sequence[PostId], *, own: PersonStores) -> None:
    await own.choices.save(post_ids)


async def unsave_posts(post_ids: Sequence[PostId], *, own: PersonStores) -> None:
    await own.choices.unsave(post_ids)


async def mark_all_read(scope: ReadingScope, *, until: datetime, own: PersonStores) -> int:
    """Marks what was stored until then. Returns how many posts have changed."""
    return await own.ledger.mark_all_read(scope, until=until)


async def undo_marks(*, own: PersonStores) -> int:
    """Undoes the person's last marks. Returns how many posts have changed."""
    return await own.ledger.undo()


async def list_mutes(*, own: PersonStores) -> Mutes:
    return await own.choices.mutes()


async def unmute_word(word: str, *, own: PersonStores) -> None:
    await own.choices.unmute_word(word)


async def unmute_channel(channel_id: ChannelId, *, own: PersonStores) -> None:
    await own.choices.unmute_channel(channel_id)


async def mute_word(word: str, *, own: PersonStores) -> str:
    phrase = " ".join(word.casefold().split())
    if not 0 < len(phrase) <= MAX_WORD_LETTERS:
        raise Rejected(
            Reason(
                "muted_word_length",
                "a muted word or phrase must have 1 to {most} characters",
                most=MAX_WORD_LETTERS,
            )
        )
    await own.choices.mute_word(phrase)
    return phrase


async def mute_channel(channel_id: ChannelId, *, own: PersonStores) -> None:
    if not await own.choices.mute_channel(channel_id):
        raise Missing(Reason("channel_not_followed", "you do not follow this channel"))


async def oldest_unread(
    scope: ReadingScope,
    *,
    own: PersonStores,
    mutes: Mutes,
    min_posted_at: datetime,
    limit: int,
    after: Cursor | None,
) -> ReadingPage:
    """Unread posts, oldest first, from where the person stopped.

    Posts before the first of them are never searched again.
    """
    start = after or Cursor(min_posted_at, ChannelId(0), MessageId(0))
    page = await read_feed(
        replace(scope, unread_only=True),
        order=FeedOrder.OLDEST,
        own=own,
        mutes=mutes,
        limit=limit,
        after=start,
    )
    if after is None and page.entries and scope == ReadingScope():
        oldest_posted_at = page.entries[0].posts[0].stored.post.posted_at
        if oldest_posted_at > min_posted_at:
            await own.choices.raise_floor(oldest_posted_at)
    return page


def _whole_albums(posts: Sequence[ReadingPost], limit: int) -> int:
    """The number of posts to return, so that the album at the end is whole."""
    cut = min(limit, len(posts))
    while (
        0 < cut < len(posts)
        and _album_of(posts[cut]) is not None
        and _album_of(posts[cut]) == _album_of(posts[cut - 1])
    ):
        cut += 1
    return cut


def _albums(posts: Sequence[ReadingPost]) -> Iterable[FeedEntry]:
    albums: dict[object, list[ReadingPost]] = {}
    for post in posts:
        albums.setdefault(_album_of(post) or post.stored.post.id, []).append(post)
    for items in albums.values():
        yield FeedEntry(tuple(sorted(items, key=lambda item: item.stored.post.message_id)))


def _album_of(reading_post: ReadingPost) -> tuple[int, int] | None:
    post = reading_post.stored.post
    return None if post.grouped_id is None else (post.channel_id, post.grouped_id)


def _copy_key(entry: FeedEntry) -> str | None:
    """Equal for entries that say the same in the same words. Short texts are never folded."""
    words = fold_text(entry.lead.stored.post.text)
    return words if words.count(" ") >= MIN_WORDS - 1 else None


def find_muted_word(text: str, words: Sequence[str]) -> str | None:
    """The first of these words or phrases that the text holds."""
    if not words:
        return None
    folded_text = text.casefold()
    return next((word for word in words if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", folded_text)), None)
