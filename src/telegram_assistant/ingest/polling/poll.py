"""One poll of one channel: the newest page first, then the gap below it, upward.

    the newest page connects to proven ids    land it, done
    it does not                               land it (newest posts first),
                                              then fill the gap from its low edge;
                                              `parse_hwm` is the date below which the gap is closed

No mark ever passes an unread post: the coverage ledger decides, and it is written in the transaction of the
posts.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from telegram_assistant.domain.channels.coverage import IdRange, closes, is_unread
from telegram_assistant.domain.channels.parsing import MAX_OVERLAP, Mode, start_of
from telegram_assistant.domain.channels.rhythm import Rhythm, after_posts, new_rhythm
from telegram_assistant.domain.ids import MessageId
from telegram_assistant.domain.posts.history import HistoryPage, HistoryReader, Readable
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.posts.rechecking import FRESH, depth_due
from telegram_assistant.errors import Busy
from telegram_assistant.ingest.polling.poll_pacing import PollPacing
from telegram_assistant.ingest.polling.raw_archive import raw_of
from telegram_assistant.ingest.polling.silence import Silence
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import ParserSettings
from telegram_assistant.stores.postgres.channels.schedule import DueChannel
from telegram_assistant.stores.postgres.posts.deletions import ObservedPage
from telegram_assistant.stores.postgres.posts.landing import Claim, Landing, PostPage, RunEnds
from telegram_assistant.stores.postgres.posts.raw_messages import RawMessages
from telegram_assistant.stores.redis.marks import Marks

EVERYTHING = datetime(1970, 1, 1, tzinfo=UTC)
"""Start of a window without a limit: everything."""
EDITS_OVERLAP = timedelta(minutes=2)


class RunStatus(StrEnum):
    """How a poll ended."""

    OK = "ok"
    EMPTY = "empty"
    FAILED = "failed"
    FLOOD = "flood"
    SKIPPED = "skipped"


@dataclass(slots=True)
class PollRun:
    """One poll of a channel: what it knows at its start, and what it finds."""

    channel: DueChannel
    mode: Mode
    mark: datetime | None
    started_at: datetime
    newer_posts: list[Post] = field(default_factory=list)
    """Posts above everything proven before, whether or not this poll stored them:
    some may have been pushed.
    """
    new_ids: set[MessageId] = field(default_factory=set)
    """Ids of the posts that this poll has stored."""
    changed: int = 0
    """Number of posts that this poll has found edited."""
    raw: list[RawMessages] = field(default_factory=list)
    """The landed messages as Telegram sent them."""
    newest_posted_at: datetime | None = None
    read_posts: list[Post] = field(default_factory=list)
    """Posts that were read again: their counts may have changed."""
    rechecked: bool = False
    """The newest page was compared with the stored posts, and it reached far enough."""
    look_back_to: datetime | None = None
    """The newest page did not reach far enough: a backfill reads the rest, back to this time."""
    doubtful: bool = False
    """So many posts seem to be gone that a second check is needed."""
    completed: bool = False
    """False if nothing was landed: then the caller completes many such polls at once."""

    @property
    def inserted_count(self) -> int:
        return len(self.new_ids)

    @property
    def has_news(self) -> bool:
        return bool(self.new_ids or self.newer_posts)

    @property
    def has_stored(self) -> bool:
        return self.has_news or self.changed > 0

    @property
    def status(self) -> RunStatus:
        return RunStatus.OK if self.inserted_count else RunStatus.EMPTY


class Poller:
    """Polls channels through one reader."""

    def __init__(
        self,
        reader: HistoryReader,
        *,
        settings: ParserSettings,
        landing: Landing,
        marks: Marks,
        silence: Silence,
        pace: PollPacing,
        stopping: asyncio.Event,
        clock: Callable[[], datetime],
    ) -> None:
        self._reader = reader
        self._settings = settings
        self._landing = landing
        self._marks = marks
        self._silence = silence
        self._pace = pace
        self._stopping = stopping
        self._clock = clock

    async def run(self, run: PollRun) -> None:
        """Read and land new posts."""
        channel = run.channel
        newest = await self._reader.newest(_readable(channel))
        run.newest_posted_at = channel.newest_posted_at
        if newest.proven is None:
            return
        edge_id, floor = await self._edge(run, newest)
        observed_page = await self._recheck(run, newest)
        news = (
            newest.posts if observed_page is not None else await self._select_news(run, newest.posts, edge_id)
        )
        connects = closes(newest.proven, edge_id)
        if connects and not news and observed_page is None and channel.known is not None:
            if run.mark is not None:
                await self._marks.drop_high_water(channel.channel_id)
            return
        run.newest_posted_at = max(
            [post.posted_at for post in newest.posts]
            + [posted_at for posted_at in (channel.newest_posted_at,) if posted_at]
        )
        await self._land(run, newest, news, floor, ends_run=connects, observed_page=observed_page)
        if not connects:
            await self._fill(run, edge_id, newest.proven)
        run.completed = True
        await self._marks.drop_high_water(channel.channel_id)
        if run.has_news:
            await self._silence.forget(channel.channel_id)

    async def _edge(self, run: PollRun, newest: HistoryPage) -> "tuple[MessageId, _Floor | None]":
        """Return the id at or below which this poll reads nothing,
        and the floor if this poll is the one that sets it.
        """
        assert newest.proven is not None
        assert newest.oldest_at is not None
        channel, known_ranges, low_id = run.channel, run.channel.known, newest.proven.low
        if known_ranges is None:
            return await self._first_edge(run, newest)
        is_connected = known_ranges.meets(newest.proven)
        if is_connected and (low_id == 1 or newest.oldest_at <= self._since(run, MAX_OVERLAP)):
            return MessageId(low_id - 1), None
        since = self._since(run, await self._silence.overlap(channel.channel_id, run.started_at))
        if is_connected and newest.oldest_at <= since:
            return MessageId(low_id - 1), None
        return known_ranges.edge(await self._silence.last_before(channel.channel_id, since)), None

    async def _first_edge(self, run: PollRun, newest: HistoryPage) -> "tuple[MessageId, _Floor]":
        assert newest.proven is not None
        assert newest.oldest_at is not None
        since, low_id = self._since(run, MAX_OVERLAP), newest.proven.low
        if low_id == 1:
            return MessageId(0), _Floor(MessageId(1), EVERYTHING)
        if newest.oldest_at <= since:
            return MessageId(low_id - 1), _Floor(low_id, newest.oldest_at)
        edge_id = await self._reader.last_before(_readable(run.channel), since)
        return edge_id, _Floor(MessageId(edge_id + 1), since)

    async def _recheck(self, run: PollRun, newest: HistoryPage) -> ObservedPage | None:
        """Compare recent posts with the newest page if that is due.

        Returns the page if it shows deleted, restored or changed posts.
        """
        channel, proven_range = run.channel, newest.proven
        is_by_preview = channel.username is not None  # a preview page does not show every post
        if is_by_preview or channel.known is None or proven_range is None or newest.oldest_at is None:
            return None
        depth = depth_due(channel.channel_id, channel.rechecked_at, run.started_at)
        if depth is not None:
            since = run.started_at - depth
            reaches = proven_range.low <= channel.known.floor_id or newest.oldest_at <= since
            run.rechecked, run.look_back_to = reaches, None if reaches else since
            run.read_posts += newest.posts
        elif not channel.was_asked and not _has_recent_post_without_push(run):
            return None
        observed_page = ObservedPage(newest.posts, run.started_at, is_newest=True)
        return (
            observed_page
            if await self._landing.differs(channel.channel_id, proven_range, observed_page)
            else None
        )

    async def _select_news(self, run: PollRun, posts: Sequence[Post], edge_id: MessageId) -> Sequence[Post]:
        late_ids = await self._late_posts(run, posts)
        return [post for post in posts if post.message_id in late_ids or _is_news(run, post, edge_id)]

    async def _late_posts(self, run: PollRun, posts: Sequence[Post]) -> set[MessageId]:
        """Return recent posts that the last poll did not see although it saw newer ones:
        a post may become visible late.
        """
        channel = run.channel
        if channel.last_polled_at is None:
            return set()
        settled_at = channel.last_polled_at - MAX_OVERLAP
        young_message_ids = [
            post.message_id
            for post in posts
            if post.posted_at >= settled_at and not is_unread(post.message_id, channel.known)
        ]
        return (
            set(young_message_ids) - await self._silence.stored_among(channel.channel_id, young_message_ids)
            if young_message_ids
            else set()
        )

    def _since(self, run: PollRun, overlap: timedelta) -> datetime:
        window = timedelta(hours=self._settings.historical_hours)
        return start_of(
            run.mode,
            mark=run.mark,
            last_parsed_at=run.channel.last_parsed_at,
            overlap=overlap,
            now=run.started_at,
            window=window,
        )

    async def _fill(self, run: PollRun, edge_id: MessageId, newest: IdRange) -> None:
        """Read upward from the edge to the newest page. Each page is landed before the next is read."""
        while not closes(newest, edge_id):
            if self._stopping.is_set():
                raise Busy(Reason("process_stopping", "the process is stopping; the next run fills the gap"))
            page = await self._reader.above(_readable(run.channel), edge_id)
            if page.proven is None:
                raise Busy(
                    Reason(
                        "nothing_above_message",
                        "Telegram shows nothing after message {message_id}, although there are newer ones",
                        message_id=edge_id,
                    ),
                    retry_after_seconds=60,
                )
            is_last = closes(newest, page.proven.high)
            await self._land(run, page, page.posts, None, ends_run=is_last)
            edge_id = page.proven.high
            if not is_last:
                await self._marks.raise_high_water(
                    run.channel.channel_id, max(post.posted_at for post in page.posts), now=self._clock()
                )

    async def _land(
        self,
        run: PollRun,
        page: HistoryPage,
        posts: Sequence[Post],
        floor: "_Floor | None",
        *,
        ends_run: bool,
        observed_page: ObservedPage | None = None,
    ) -> None:
        channel, now = run.channel, self._clock()
        run.newer_posts += [
            post for post in posts if channel.known is None or post.message_id > channel.known.top.high
        ]
        landed = await self._landing.land(
            PostPage(
                posts=tuple(posts),
                proven=page.proven,
                read_at=now,
                floor_id=floor.message_id if floor else None,
                floor_at=floor.since if floor else None,
                mode=run.mode,
                observed=observed_page,
            ),
            Claim(channel.channel_id, channel.lease_epoch, by_preview=channel.username is not None),
            ends=await self._plan_end(run, now) if ends_run else None,
        )
        run.new_ids |= landed.new_ids
        run.changed += landed.changed
        run.doubtful = run.doubtful or landed.doubtful > 0
        run.raw += raw_of(posts, page, now)

    async def _plan_end(self, run: PollRun, now: datetime) -> RunEnds:
        rhythm = _rhythm_after(run, now.timestamp())
        next_poll_at = await self._pace.next_poll_at(run.channel, rhythm, run.newest_posted_at, now)
        return RunEnds(
            started_at=run.started_at,
            next_poll_at=next_poll_at,
            stored_before=run.has_stored,
            rechecked=run.rechecked,
            rhythm=rhythm,
        )


@dataclass(frozen=True, slots=True)
class _Floor:
    message_id: MessageId
    since: datetime


def _readable(channel: DueChannel) -> Readable:
    return Readable(channel.channel_id, channel.access_hash, channel.username)


def _has_recent_post_without_push(run: PollRun) -> bool:
    """Tell whether a recent post is stored for which Telegram pushes no updates,
    because the account has not joined the channel.
    """
    newest_at = run.channel.newest_posted_at
    return not run.channel.joined and newest_at is not None and run.started_at - newest_at <= FRESH


def _is_news(run: PollRun, post: Post, edge_id: MessageId) -> bool:
    """Tell whether the post is unread, in a gap, or edited since the last poll.

    Known, unchanged posts are not written again.
    """
    channel = run.channel
    if is_unread(post.message_id, channel.known) or (run.mark is not None and post.message_id > edge_id):
        return True
    if run.mode is Mode.HISTORICAL:
        return True
    if post.facts.get("edited"):  # a preview page does not say when
        return True
    return (
        post.edited_at is not None
        and channel.last_polled_at is not None
        and post.edited_at >= channel.last_polled_at - EDITS_OVERLAP
    )


def _rhythm_after(run: PollRun, now: float) -> Rhythm:
    posted_at_times = sorted(
        {post.posted_at.timestamp() for post in run.newer_posts}
    )  # the items of an album count as one post
    if run.channel.rhythm is None:
        return new_rhythm(posted_at_times, now, since=posted_at_times[0] if posted_at_times else now)
    return after_posts(run.channel.rhythm, posted_at_times, now)
