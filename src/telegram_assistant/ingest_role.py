"""The ingest role: the loops that follow Telegram, and what runs for each account.

It is long because all that an account needs is put together here.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from telegram_assistant.assembly import App
from telegram_assistant.domain.accounts.account import AccountRefused, AccountState, Lease, mask_phone
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.domain.posts.history import HistoryReader
from telegram_assistant.errors import Rejected
from telegram_assistant.ingest.accounts import PART, Holder, adopt_session_string
from telegram_assistant.ingest.albums import PART as ALBUMS
from telegram_assistant.ingest.albums import close_albums
from telegram_assistant.ingest.channel_resolution import ChannelResolver
from telegram_assistant.ingest.folders import FolderFollower
from telegram_assistant.ingest.joined_lists import JoinedLists
from telegram_assistant.ingest.joining import Joiner
from telegram_assistant.ingest.logins import PART as LOGINS
from telegram_assistant.ingest.logins import LoginWorker
from telegram_assistant.ingest.media import MediaFetcher
from telegram_assistant.ingest.polling.account_loop import AccountDependencies, AccountLoop
from telegram_assistant.ingest.polling.backfill import Backfiller
from telegram_assistant.ingest.polling.missed_updates import CatchUp
from telegram_assistant.ingest.polling.poll import Poller
from telegram_assistant.ingest.polling.poll_pacing import PollPacing
from telegram_assistant.ingest.polling.previews import PART as PREVIEWS
from telegram_assistant.ingest.polling.previews import PreviewLoop, PreviewTurns, PreviewWorker
from telegram_assistant.ingest.polling.push import PushWorker
from telegram_assistant.ingest.polling.recounting import PART as RECOUNTING
from telegram_assistant.ingest.polling.recounting import recount
from telegram_assistant.ingest.polling.silence import Silence
from telegram_assistant.ingest.scheduler import PART as SCHEDULER
from telegram_assistant.ingest.scheduler import Scheduler
from telegram_assistant.ingest.spool import Spool
from telegram_assistant.ingest.telegram_setup import PART as SETUP
from telegram_assistant.ingest.telegram_setup import TelegramConnectionSettings
from telegram_assistant.previews.reader import PreviewReader
from telegram_assistant.previews.site import Site, open_site
from telegram_assistant.stores.disks import download_folders, reason_to_pause_downloads, spool_folder
from telegram_assistant.stores.postgres.accounts.accounts import HeldAccount
from telegram_assistant.stores.postgres.accounts.logins import Logins, Owner
from telegram_assistant.stores.postgres.channels.previews import NO_ACCOUNT
from telegram_assistant.stores.redis.marks import Marks
from telegram_assistant.stores.redis.scheduler import SchedulerLock
from telegram_assistant.supervision import Loop, cancel_and_wait
from telegram_assistant.telegram.account_client import AccountClient, Clock
from telegram_assistant.telegram.client import open_account_client
from telegram_assistant.telegram.login import LoginDialog, log_out, open_login, whoami
from telegram_assistant.telegram.reader import ChannelReader
from telegram_assistant.telegram.updates import UpdateBuffer
from telegram_assistant.telegram.vault import Vault, vault_of
from telegram_assistant.telemetry.health import Health, State


def loops(app: App, health: Health) -> tuple[Loop, ...]:
    """Build the loops: accounts, previews, scheduler, albums and recounting.

    None without accounts or previews.
    """
    readers = (*_accounts(app, health), *_previews(app, health))
    albums = partial(close_albums, albums=app.system.albums, clock=_now)
    recounting = partial(recount, landing=app.system.landing)
    return (
        (
            *readers,
            Loop(SCHEDULER, build_scheduler(app, health).run),
            Loop(ALBUMS, albums),
            Loop(RECOUNTING, recounting),
        )
        if readers
        else ()
    )


def _previews(app: App, health: Health) -> tuple[Loop, ...]:
    """Build the loop of previews, if PREVIEWS_ENABLED is set."""

    async def run(stopping: asyncio.Event) -> None:
        turns = PreviewTurns(app.instance, app.system.previews)
        async with open_site(app.settings.previews, turns) as site:
            await PreviewLoop(
                build_preview_worker(app, site, turns, health=health, stopping=stopping), stopping
            ).run()

    return (Loop(PREVIEWS, run),) if app.settings.previews.enabled else ()


def _accounts(app: App, health: Health) -> tuple[Loop, ...]:
    """Build the loops of accounts and logins, if there is a session key.

    Raises CannotStart if there is a session and no key to seal it.
    """
    telegram, system, ingest = app.settings.telegram, app.system, app.ingest
    assert ingest is not None  # the role says that it uses accounts
    session_string = telegram.session_string.get_secret_value()
    key = telegram.encryption_key.get_secret_value()
    if not (key or session_string):
        health.report(
            PART,
            State.OK,
            "no account: set SESSION_ENCRYPTION_KEY, then log in on the page Getting started or with `tga "
            "accounts login`",
        )
        return ()
    vault = vault_of(key)
    slots = asyncio.Semaphore(app.settings.parser.concurrency)

    connection = TelegramConnectionSettings(telegram, secrets=ingest.telegram_secrets, vault=vault)

    @asynccontextmanager
    async def open_client(
        held_account: HeldAccount, session: str, lease: Lease, receiver: UpdateBuffer | None = None
    ) -> AsyncIterator[AccountClient]:
        current_settings = await connection.current()
        async with open_account_client(
            current_settings,
            session,
            lease,
            account_id=held_account.account_id,
            limits=system.limits,
            receiver=receiver,
        ) as client:
            yield client

    async def use(held_account: HeldAccount, session: str, lease: Lease, stopping: asyncio.Event) -> None:
        receiver = UpdateBuffer()
        async with open_client(held_account, session, lease, receiver) as client:
            if held_account.user_id is None:
                await _identify(held_account.account_id, client, vault=vault, logins=ingest.logins)
            account = OwnedAccount(held_account.account_id, held_account.lease_epoch, lease)
            await run_account(app, account, client, receiver, health=health, slots=slots, stopping=stopping)

    async def log_out_account(held_account: HeldAccount, session: str, lease: Lease) -> None:
        async with open_client(held_account, session, lease) as client:
            await log_out(client)

    @asynccontextmanager
    async def login_to(account_id: AccountId) -> AsyncIterator[LoginDialog]:
        async with open_login(
            await connection.current(), account_id=account_id, limits=system.limits
        ) as login:
            yield login

    holder = Holder(
        use, log_out_account, owner=app.instance, accounts=ingest.accounts, vault=vault, health=health
    )
    logins = LoginWorker(
        login_to,
        owner=app.instance,
        logins=ingest.logins,
        accounts=ingest.accounts,
        vault=vault,
        health=health,
    )

    async def run(stopping: asyncio.Event) -> None:
        if session_string:
            await adopt_session_string(
                session_string, accounts=ingest.accounts, tenants=system.tenants, vault=vault
            )
        await holder.run(stopping)

    return (Loop(PART, run), Loop(LOGINS, logins.run), Loop(SETUP, connection.run))


async def _identify(account_id: AccountId, client: AccountClient, *, vault: Vault, logins: Logins) -> None:
    """Store whose session was adopted, so that the account is found again when the same number logs in."""
    me = await whoami(client)
    try:
        await logins.identify(account_id, Owner(me.user_id, mask_phone(me.phone), vault.prints(me.phone)[0]))
    except Rejected as error:
        raise AccountRefused(error.reason, state=AccountState.QUARANTINED) from error


def build_scheduler(app: App, health: Health) -> Scheduler:
    lock, marks = SchedulerLock(app.redis, app.instance), app.marks
    return Scheduler(
        settings=app.settings.parser,
        lock=lock,
        planning=app.system.planning,
        marks=marks,
        health=health,
        clock=_now,
    )


@dataclass(frozen=True, slots=True)
class OwnedAccount:
    """An account that this process holds: its lease and the lease's epoch."""

    account_id: AccountId
    lease_epoch: int
    lease: Lease


async def run_account(
    app: App,
    account: OwnedAccount,
    client: AccountClient,
    receiver: UpdateBuffer,
    *,
    health: Health,
    slots: asyncio.Semaphore,
    stopping: asyncio.Event,
) -> None:
    """Run one account: polls, resolves channels, receives updates and downloads files, side by side.

    If one of these fails, all end.
    """
    reader = ChannelReader(client)
    reading = AccountLoop(
        build_account_dependencies(app, account, reader, slots=slots, stopping=stopping),
        stopping,
        health=health,
    )
    work = [
        reading.run(),
        build_resolver(app, account, reader).run(stopping),
        build_push_worker(app, account, receiver).run(stopping),
        build_catch_up(app, account, reader, receiver).run(stopping),
    ]
    if (fetcher := build_fetcher(app, account, client, health=health, stopping=stopping)) is not None:
        work.append(fetcher.run())
    tasks = tuple(asyncio.create_task(coroutine) for coroutine in work)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        await cancel_and_wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()


def build_resolver(
    app: App, account: OwnedAccount, reader: ChannelReader, *, waits: Clock | None = None
) -> ChannelResolver:
    system = app.system
    channels, planning = system.channels, system.planning
    folders = FolderFollower(
        reader,
        account_id=account.account_id,
        folders=system.folders,
        channels=channels,
        planning=planning,
        clock=_now,
    )
    queue, listings = system.request_queue, system.joined_listings
    joined_lists = JoinedLists(
        reader, account_id=account.account_id, queue=queue, listings=listings, channels=channels, clock=_now
    )
    return ChannelResolver(
        reader,
        account_id=account.account_id,
        queue=queue,
        channels=channels,
        joined=joined_lists,
        folders=folders,
        planning=planning,
        clock=_now,
        waits=waits or Clock(),
    )


def build_fetcher(
    app: App, account: OwnedAccount, client: AccountClient, *, health: Health, stopping: asyncio.Event
) -> MediaFetcher | None:
    """Return None if no store for files is configured."""
    if app.files is None:
        return None
    files = app.settings.files
    return MediaFetcher(
        client,
        account_id=account.account_id,
        media=app.system.media,
        files=app.files,
        spool=Spool(spool_folder(files)),
        why_paused=partial(
            reason_to_pause_downloads, download_folders(app.settings), min_free_percent=files.min_free_percent
        ),
        health=health,
        stopping=stopping,
    )


def build_push_worker(app: App, account: OwnedAccount, receiver: UpdateBuffer) -> PushWorker:
    system = app.system
    return PushWorker(
        account_id=account.account_id,
        lease_epoch=account.lease_epoch,
        lease=account.lease,
        receiver=receiver,
        landing=system.landing,
        backfills=system.backfills,
        hints=system.hints,
        raw_archive=system.raw_archive,
        clock=_now,
    )


def build_catch_up(app: App, account: OwnedAccount, reader: ChannelReader, receiver: UpdateBuffer) -> CatchUp:
    system, per_day = app.system, app.settings.parser.joins_per_day
    return CatchUp(
        account_id=account.account_id,
        lease_epoch=account.lease_epoch,
        receiver=receiver,
        client=reader.client,
        states=system.push_states,
        hints=system.hints,
        joiner=Joiner(
            account_id=account.account_id,
            per_day=per_day,
            reader=reader,
            joins=system.joins,
            limits=system.limits,
            clock=_now,
        ),
    )


def build_account_dependencies(
    app: App,
    account: OwnedAccount,
    reader: ChannelReader,
    *,
    slots: asyncio.Semaphore,
    stopping: asyncio.Event,
) -> AccountDependencies:
    settings, system, marks = app.settings.parser, app.system, app.marks
    silence, pace = _build_pace(app, account.account_id, marks)
    return AccountDependencies(
        account_id=account.account_id,
        lease_epoch=account.lease_epoch,
        lease=account.lease,
        poller=_build_poller(app, reader, marks, silence, pace, stopping),
        backfiller=Backfiller(
            reader,
            account_id=account.account_id,
            lease_epoch=account.lease_epoch,
            owner=app.instance,
            backfills=system.backfills,
            landing=system.landing,
            marks=marks,
            clock=_now,
        ),
        pace=pace,
        silence=silence,
        schedule=system.schedule,
        known_channels=system.known_channels,
        backfills=system.backfills,
        marks=marks,
        raw_archive=system.raw_archive,
        counts=system.counts,
        settings=settings,
        slots=slots,
        clock=_now,
    )


def build_preview_worker(
    app: App, site: Site, turns: PreviewTurns, *, health: Health, stopping: asyncio.Event
) -> PreviewWorker:
    settings, system, marks, reader = app.settings.parser, app.system, app.marks, PreviewReader(site)
    silence, pace = _build_pace(app, NO_ACCOUNT, marks)
    return PreviewWorker(
        turns=turns,
        reader=reader,
        poller=_build_poller(app, reader, marks, silence, pace, stopping),
        pace=pace,
        previews=system.previews,
        schedule=system.schedule,
        known_channels=system.known_channels,
        queue=system.request_queue,
        channels=system.channels,
        planning=system.planning,
        marks=marks,
        settings=settings,
        health=health,
        clock=_now,
    )


def _build_pace(app: App, account_id: AccountId, marks: Marks) -> tuple[Silence, PollPacing]:
    settings, system = app.settings.parser, app.system
    silence = Silence(settings=settings, marks=marks, statistics=system.statistics)
    return silence, PollPacing(account_id, settings=settings, schedule=system.schedule, silence=silence)


def _build_poller(
    app: App, reader: HistoryReader, marks: Marks, silence: Silence, pace: PollPacing, stopping: asyncio.Event
) -> Poller:
    settings, landing = app.settings.parser, app.system.landing
    return Poller(
        reader,
        settings=settings,
        landing=landing,
        marks=marks,
        silence=silence,
        pace=pace,
        stopping=stopping,
        clock=_now,
    )


def _now() -> datetime:
    return datetime.now(UTC)
