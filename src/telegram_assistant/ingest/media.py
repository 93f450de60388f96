"""Downloads the files of posts: one loop per account, beside its reading.

Files have their own budget at Telegram, so this loop never waits for polls; a poll waits for one part of a
file at most. A file goes through the spool: downloaded parts are not requested again, whatever breaks, and a
complete file waits there until the store answers.

    due jobs -> locate (one request per channel) -> parts -> spool -> SHA-256
             -> row in media_objects -> store -> settled
"""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from telegram_assistant.domain.accounts.account import AccountRefused
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.domain.posts.history import Readable
from telegram_assistant.errors import Busy, Flooded, LeaseLost, NoRoom, Rejected
from telegram_assistant.ingest.spool import Spool, Spooled
from telegram_assistant.reasons import Reason, describe_bug
from telegram_assistant.stores.files import Files
from telegram_assistant.stores.postgres.media.files import MediaJob, MediaQueue
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telegram.account_client import AccountClient
from telegram_assistant.telegram.download import LocatedFile, ReferenceExpired, locate, part_bytes, read_part
from telegram_assistant.telemetry.health import Health, State
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import MEDIA_BYTES, MEDIA_PAUSED, MEDIA_QUEUE
from telegram_assistant.telemetry.outages import OutageLog

log = get_logger()

PART = "downloads"
BATCH = 40
IDLE_SECONDS = 2.0
FIRST_PAUSE_SECONDS = 0.5
COUNT_SECONDS = 30.0
PAUSED_SECONDS = 15.0
RETRY_AFTER_SECONDS = 10.0
"""How long an unreachable data centre is skipped while files of others are downloaded."""
MAX_RENEWALS = 3
"""How often a reference may expire within one file."""

DATA_CENTER_SILENT = Reason("data_center_silent", "the data centre of the file does not answer")
STORE_AWAY = Reason("file_store_away", "downloaded, but the file store is unavailable")

type Locations = Mapping[tuple[int, int], LocatedFile]


class MediaFetcher:
    """Downloads the files of one account."""

    def __init__(
        self,
        client: AccountClient,
        *,
        account_id: AccountId,
        media: MediaQueue,
        files: Files,
        spool: Spool,
        why_paused: Callable[[int], Awaitable[Reason | None]],
        health: Health,
        stopping: asyncio.Event,
    ) -> None:
        self._client = client
        self._account_id = account_id
        self._media = media
        self._files = files
        self._spool = spool
        self._why_paused = why_paused
        self._health = health
        self._stopping = stopping
        self._store_retry_at = 0.0
        self._counted_at = 0.0
        self._outage = OutageLog(f"files of account {account_id}", account_id=account_id)
        self._store_outage = OutageLog(f"store of files of account {account_id}", account_id=account_id)
        self._data_center_outages: dict[int, OutageLog] = {}

    async def run(self) -> None:
        """Run until `stopping` is set.

        AccountRefused and LeaseLost end the loop: both concern the whole account.
        """
        self._spool.tidy()
        try:
            await self._run()
        finally:
            self._report_room(None)  # another process downloads now, or nobody

    async def _run(self) -> None:
        failure_count = 0
        while not self._stopping.is_set():
            try:
                is_idle = not await self.step()
                failure_count = 0
                self._outage.log_recovery()
                self._report_room(None)
            except Busy as busy:
                if isinstance(busy, NoRoom):
                    self._report_room(busy)
                pause_seconds = busy.retry_after_seconds
                if not isinstance(
                    busy, Flooded
                ):  # reconnect soon after a lost connection, then with growing pauses
                    pause_seconds, failure_count = (
                        min(pause_seconds, FIRST_PAUSE_SECONDS * 2**failure_count),
                        failure_count + 1,
                    )
                self._outage.log_failure(
                    busy, is_routine=isinstance(busy, Flooded), seconds=round(pause_seconds)
                )
                await sleep_unless(self._stopping, pause_seconds)
            else:
                await sleep_unless(self._stopping, IDLE_SECONDS if is_idle else 0.0)

    def _report_room(self, no_room: NoRoom | None) -> None:
        MEDIA_PAUSED.set(no_room is not None)
        self._health.report(
            PART, State.OK if no_room is None else State.FAILING, "" if no_room is None else str(no_room)
        )

    async def step(self) -> bool:
        """Download some files.

        Returns False if nothing is due. Raises NoRoom while a disk must keep its room for posts.
        """
        await self._require_room()
        await self._update_queue_metric()
        jobs = await self._media.due(self._account_id, max_jobs=BATCH)
        fetched_keys, unreachable = set[tuple[int, bool]](), set[int]()
        for _, group in itertools.groupby(
            sorted(jobs, key=lambda job: job.channel_id), key=lambda job: job.channel_id
        ):
            await self._fetch_some(list(group), fetched_keys, unreachable)
        return bool(jobs)

    async def _require_room(self) -> None:
        """Files come last: they stop first, so that posts can be stored for as long as possible."""
        if (reason := await self._why_paused(0)) is not None:
            raise NoRoom(reason, retry_after_seconds=PAUSED_SECONDS)

    async def _update_queue_metric(self) -> None:
        if time.monotonic() - self._counted_at > COUNT_SECONDS:
            self._counted_at = time.monotonic()
            MEDIA_QUEUE.labels(self._account_id).set(await self._media.waiting(self._account_id))

    async def _fetch_some(
        self, jobs: Sequence[MediaJob], fetched_keys: set[tuple[int, bool]], unreachable: set[int]
    ) -> None:
        """Download files of one channel. A failure counts against the attempts of its own file and stops no
        other.

        An unreachable data centre stops no other file either, unless it is the account's own.
        """
        try:
            locations = await self._locate([job for job in jobs if not self._is_complete(job)])
        except Rejected as error:
            for job in jobs:
                await self._fail(job, error.reason)
            return
        for job in jobs:
            if self._stopping.is_set():
                return
            if (job.media_id, job.is_photo) not in fetched_keys and _dc_of(job, locations) not in unreachable:
                await self._fetch_or_postpone(job, locations, unreachable)
                fetched_keys.add((job.media_id, job.is_photo))
        waiting_jobs = [job for job in jobs if _dc_of(job, locations) in unreachable]
        if waiting_jobs:
            await self._media.postpone(waiting_jobs, DATA_CENTER_SILENT, seconds=RETRY_AFTER_SECONDS)

    async def _fetch_or_postpone(self, job: MediaJob, locations: Locations, unreachable: set[int]) -> None:
        if (reason := await self._why_paused(job.size_bytes)) is not None:
            await self._require_room()  # there may be room for smaller files
            await self._media.postpone([job], reason, seconds=PAUSED_SECONDS)
            return
        try:
            await self._fetch(job, locations)
        except Rejected as error:
            await self._fail(job, error.reason)
        except (Flooded, NoRoom, LeaseLost, AccountRefused):
            raise
        except Busy as busy:
            dc_id = _dc_of(job, locations)
            if dc_id is None or self._client.is_home_data_center(dc_id):
                raise
            unreachable.add(dc_id)
            self._outage_of(dc_id).log_failure(busy, is_routine=True)
        except Exception as error:
            log.exception("media_failed", channel_id=job.channel_id, message_id=job.message_id)
            await self._fail(job, describe_bug(error))
        else:
            if (dc_id := _dc_of(job, locations)) is not None:
                self._outage_of(dc_id).log_recovery()

    def _outage_of(self, dc_id: int) -> OutageLog:
        part = f"files of account {self._account_id} in data centre {dc_id}"
        return self._data_center_outages.setdefault(
            dc_id, OutageLog(part, account_id=self._account_id, dc_id=dc_id)
        )

    def _is_complete(self, job: MediaJob) -> bool:
        return self._spool.size_of(job.media_id, is_photo=job.is_photo) == job.size_bytes

    async def _locate(self, jobs: Sequence[MediaJob]) -> Locations:
        if not jobs:
            return {}
        return await locate(
            self._client, Readable(jobs[0].channel_id, jobs[0].access_hash), [job.message_id for job in jobs]
        )

    async def _fetch(self, job: MediaJob, locations: Locations) -> None:
        with self._spool.open_file(job.media_id, is_photo=job.is_photo) as spooled_file:
            if spooled_file.size_bytes != job.size_bytes:
                job = await self._download(job, spooled_file, locations)
            if spooled_file.size_bytes == job.size_bytes:
                await self._store(job, spooled_file)

    async def _download(self, job: MediaJob, spooled_file: Spooled, locations: Locations) -> MediaJob:
        """Download until the file is complete or the process stops.

        The size that Telegram reports now is the one that counts.
        """
        location = _location_of(job, locations)
        job, part_size, renewal_count = (
            replace(job, size_bytes=location.size_bytes),
            part_bytes(location.size_bytes),
            0,
        )
        spooled_file.truncate(min(spooled_file.size_bytes, location.size_bytes) // part_size * part_size)
        self._spool.require_space(location.size_bytes - spooled_file.size_bytes)
        while spooled_file.size_bytes < location.size_bytes and not self._stopping.is_set():
            try:
                part = await read_part(self._client, location, spooled_file.size_bytes)
            except ReferenceExpired as error:
                renewal_count += 1
                if renewal_count > MAX_RENEWALS:
                    raise Rejected(
                        Reason(
                            "file_reference_expires",
                            "the reference to the file keeps expiring immediately",
                        )
                    ) from error
                location = _location_of(job, await self._locate([job]))
                continue
            MEDIA_BYTES.inc(len(part))
            if len(part) != min(part_size, location.size_bytes - spooled_file.size_bytes):
                spooled_file.truncate(0)
                raise Rejected(
                    Reason("file_other_size", "Telegram sent a different number of bytes than announced")
                )
            spooled_file.append(part)
        return job

    async def _store(self, job: MediaJob, spooled_file: Spooled) -> None:
        """Write the row before the file, so that the file is not taken for an orphan,
        and mark the job as stored after it.
        """
        if time.monotonic() < self._store_retry_at:
            await self._media.postpone([job], STORE_AWAY, seconds=self._store_retry_at - time.monotonic())
            return
        sha256 = await asyncio.to_thread(spooled_file.sha256)
        await self._media.reserve(sha256, job.size_bytes, job.mime)
        try:
            await self._store_file(sha256, job.size_bytes, spooled_file.path)
        except Busy as busy:
            self._store_retry_at = time.monotonic() + busy.retry_after_seconds
            self._store_outage.log_failure(busy, seconds=busy.retry_after_seconds)
            await self._media.postpone(
                [job],
                Reason("file_fetched_but", "downloaded, but {why}", why=busy.reason),
                seconds=busy.retry_after_seconds,
            )
            return
        self._store_outage.log_recovery()
        await self._media.mark_stored(job, sha256, job.size_bytes)
        self._spool.remove(job.media_id, is_photo=job.is_photo)

    async def _store_file(self, sha256: bytes, size_bytes: int, path: Path) -> None:
        if await self._files.load_size(sha256) != size_bytes:
            await self._files.put(sha256, path)

    async def _fail(self, job: MediaJob, reason: Reason) -> None:
        if await self._media.fail(job, reason):
            self._spool.remove(job.media_id, is_photo=job.is_photo)
            log.warning(
                "media_given_up",
                channel_id=job.channel_id,
                message_id=job.message_id,
                why=str(reason),
                what_to_do="`tga media status` shows such files",
            )


def _dc_of(job: MediaJob, locations: Locations) -> int | None:
    location = locations.get((job.message_id, job.ordinal))
    return None if location is None else location.dc_id


def _location_of(job: MediaJob, locations: Locations) -> LocatedFile:
    location = locations.get((job.message_id, job.ordinal))
    if location is None:
        raise Rejected(Reason("file_gone", "the message was deleted or no longer has a file"))
    if location.media_id != job.media_id:
        raise Rejected(Reason("file_replaced", "the post now has another file"))
    if location.size_bytes > job.size_bytes:
        raise Rejected(Reason("file_larger_than_said", "the file is larger than announced"))
    return location
