"""Reads a channel's history page by page, from the newest gap downward, in the lane that never delays live
posts.

The coverage ledger is the cursor: each landed page proves its ids, so an interrupted job continues where it
was. A job that reads everything once more keeps its own cursor in its row, and the landing moves it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.accounts.account import AccountRefused
from telegram_assistant.domain.channels.coverage import subtract_range
from telegram_assistant.domain.channels.parsing import Mode
from telegram_assistant.domain.ids import AccountId, MessageId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.domain.posts.history import HistoryPage, HistoryReader, Readable
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.errors import AccessLost, Busy, LeaseLost
from telegram_assistant.ingest.polling.raw_archive import raw_of
from telegram_assistant.ingest.run_metrics import record_waits
from telegram_assistant.reasons import Reason, describe_bug
from telegram_assistant.stores.postgres.channels.backfills import (
    LOOKS_BACK,
    Backfill,
    BackfillKind,
    Backfills,
)
from telegram_assistant.stores.postgres.posts.deletions import ObservedPage
from telegram_assistant.stores.postgres.posts.landing import BackfillClaim, Landing, PostPage
from telegram_assistant.stores.postgres.posts.raw_messages import RawMessages
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import BACKFILL_JOBS
from telegram_assistant.telemetry.waits import collect_waits

log = get_logger()

TELEGRAM_BEGAN = datetime(2013, 8, 14, tzinfo=UTC)
LOCKED_SECONDS = 60.0


@dataclass(slots=True)
class Step:
    """The result of one step of a job."""

    pages: int = 0
    inserted: int = 0
    raw: list[RawMessages] = field(default_factory=list)
    read_posts: list[Post] = field(default_factory=list)
    """Posts that were read again: their counts may have changed."""
    done: bool = False
    busy: Busy | None = None
    """The error that interrupted the step."""


class Backfiller:
    """Runs the backfill jobs of one account."""

    def __init__(
        self,
        reader: HistoryReader,
        *,
        account_id: AccountId,
        lease_epoch: int,
        owner: str,
        backfills: Backfills,
        landing: Landing,
        marks: Marks,
        clock: Callable[[], datetime],
    ) -> None:
        self._reader = reader
        self._account_id = account_id
        self._lease_epoch = lease_epoch
        self._owner = owner
        self._backfills = backfills
        self._landing = landing
        self._marks = marks
        self._clock = clock

    async def step(self, max_pages: int) -> Step | None:
        """Read some pages of the job that is due first. Returns None if there is no job."""
        job = await self._backfills.claim(self._account_id, self._owner, self._lease_epoch)
        if job is None:
            return None
        step = Step()
        if not await self._begin(job):
            await self._backfills.pause(job, post_count=0, seconds=LOCKED_SECONDS)
            return step
        with collect_waits() as waits:
            await self._work(job, step, max_pages)
        record_waits(job.channel_id, waits)
        return step

    async def _begin(self, job: Backfill) -> bool:
        """Lock the channel.

        Returns False while another process holds the lock. Takes over the lock of a former owner or a dead
        process.
        """
        if not _is_backfill(job):
            return True
        holder = await self._marks.lock_backfill(job.channel_id, self._owner, instead_of=job.former_owner)
        if holder is not None and "#" in holder and not await self._backfills.is_at_work(holder):
            holder = await self._marks.lock_backfill(job.channel_id, self._owner, instead_of=holder)
        if holder is not None:
            remedy = f"nothing, or delete lock:backfill:{job.channel_id} if nobody needs it"
            log.warning("backfill_locked", channel_id=job.channel_id, holder=holder, what_to_do=remedy)
            return False
        await self._marks.note_backfill_job(job.channel_id, self._window_start(job))
        return True

    async def _work(self, job: Backfill, step: Step, max_pages: int) -> None:
        try:
            await self._read_step(job, step, max_pages)
        except Busy as busy:
            step.busy = busy
            await self._backfills.pause(job, post_count=step.inserted, seconds=busy.retry_after_seconds)
        except (LeaseLost, AccountRefused):
            raise
        except AccessLost as error:
            await self._fail(job, error.reason)
        except Exception as error:
            log.exception("backfill_failed", channel_id=job.channel_id)
            await self._fail(job, describe_bug(error))
        else:
            await (
                self._finish(job, step) if step.done else self._backfills.pause(job, post_count=step.inserted)
            )

    async def _read_step(self, job: Backfill, step: Step, max_pages: int) -> None:
        if job.newest_id is None or job.floor_id is None:
            step.done = True  # nothing was ever read here: the first poll comes before any backfill
        elif (
            job.kind not in LOOKS_BACK
            and job.since is not None
            and (job.floor_at is None or job.since < job.floor_at)
        ):
            await self._find_floor(job, step, job.since, job.floor_id)
        elif job.kind is BackfillKind.VERIFY or job.kind in LOOKS_BACK:
            await self._read_again(job, step, max_pages, job.floor_id)
        else:
            await self._fill(job, step, max_pages)

    async def _fill(self, job: Backfill, step: Step, max_pages: int) -> None:
        gaps = job.gaps
        while gaps and step.pages < max_pages:
            page = await self._reader.below(_readable(job), MessageId(gaps[0].high + 1))
            await self._land(job, step, page, below_id=None)
            gaps = subtract_range(gaps, page.proven)
        step.done = not gaps

    async def _find_floor(self, job: Backfill, step: Step, since: datetime, floor_id: MessageId) -> None:
        """Find where the wanted history begins. Unproven ids above it are gaps from now on."""
        last_id = MessageId(0)
        if since >= TELEGRAM_BEGAN:
            last_id = await self._reader.last_before(_readable(job), since)
            step.pages += 1
        await self._backfills.lower_floor(job, MessageId(last_id + 1), since)
        step.done = last_id + 1 >= floor_id and not job.gaps and job.kind is not BackfillKind.VERIFY

    async def _read_again(self, job: Backfill, step: Step, max_pages: int, floor_id: MessageId) -> None:
        below_id = job.below
        while not step.done and step.pages < max_pages:
            asked_at = self._clock()
            page = await (
                self._reader.newest(_readable(job))
                if below_id is None
                else self._reader.below(_readable(job), below_id)
            )
            if page.proven is None:
                step.done = True
                return
            observed_page = ObservedPage(page.posts, asked_at, is_newest=below_id is None)
            below_id = page.proven.low
            await self._land(job, step, page, below_id=below_id, observed_page=observed_page)
            step.read_posts += page.posts
            since = job.since if job.kind in LOOKS_BACK else None
            too_old = since is not None and page.oldest_at is not None and page.oldest_at <= since
            step.done = too_old or below_id <= floor_id

    async def _land(
        self,
        job: Backfill,
        step: Step,
        page: HistoryPage,
        *,
        below_id: MessageId | None,
        observed_page: ObservedPage | None = None,
    ) -> None:
        now = self._clock()
        claim = BackfillClaim(job.channel_id, job.backfill_id, job.lease_epoch, below_id)
        landed = await self._landing.land(
            PostPage(
                posts=page.posts,
                proven=page.proven,
                read_at=now,
                lane=Lane.BULK,
                requested_by=job.requested_by or None,
                mode=Mode.HISTORICAL,
                observed=observed_page,
            ),
            claim,
        )
        step.pages += 1
        step.inserted += landed.inserted
        step.raw += raw_of(page.posts, page, now)

    async def _finish(self, job: Backfill, step: Step) -> None:
        """Finish a job. The lock is released first, so that no crash leaves it behind for the next job."""
        if _is_backfill(job):
            await self._marks.free_backfill(job.channel_id, self._owner)
        await self._backfills.finish(job, post_count=step.inserted)
        if _is_backfill(job):
            await self._marks.set_low_water(job.channel_id, self._window_start(job))
            BACKFILL_JOBS.add(job.channel_id, status="completed")
        await self._backfills.look_twice(job.channel_id)

    async def _fail(self, job: Backfill, reason: Reason) -> None:
        is_given_up = await self._backfills.fail(job, reason, pause=timedelta(minutes=1) * 2**job.attempts)
        if is_given_up and _is_backfill(job):
            await self._marks.free_backfill(job.channel_id, self._owner)
            await self._marks.drop_backfill_job(job.channel_id, self._window_start(job))
            BACKFILL_JOBS.add(job.channel_id, status="failed")
        if is_given_up:
            log.warning(
                "backfill_given_up",
                channel_id=job.channel_id,
                why=str(reason),
                what_to_do="`tga channels coverage` shows it; it is tried again in an hour",
            )

    def _window_start(self, job: Backfill) -> datetime:
        return job.since or job.floor_at or self._clock()


def _is_backfill(job: Backfill) -> bool:
    """Tell whether the job reads history.

    A recheck looks for edits and deletions, so the marks and metrics of backfills skip it.
    """
    return job.kind is not BackfillKind.RECHECK


def _readable(job: Backfill) -> Readable:
    return Readable(job.channel_id, job.access_hash)
