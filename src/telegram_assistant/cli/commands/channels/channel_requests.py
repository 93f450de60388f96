"""Requests to follow channels: creates them, waits for them, and prints their outcome."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from telegram_assistant.api.endpoints.channels.channel_requests import (
    ChannelRequestsResponse,
    list_channel_requests,
)
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import context_for
from telegram_assistant.cli.environment import complaints, console, zone_here
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.channels.channel_requests import (
    FASTER,
    LOOK_UPS_PER_DAY,
    RequestKind,
    RequestState,
)
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.features.channels.channel_lists import ListedChannel
from telegram_assistant.features.channels.channel_requests import (
    RequestStatus,
    WaitingKind,
    some_requests,
    try_again,
    try_all_again,
    waiting_requests,
)
from telegram_assistant.features.channels.channels import RequestedChannel
from telegram_assistant.features.channels.imports import import_channels
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.channels import Subscription

BATCH = 500
MAX_LINES = 20
"""More references than this are summarised."""
MAX_REASONS = 3
COLOURS = {RequestState.OPEN: "yellow", RequestState.DONE: "green", RequestState.FAILED: "red"}
THINGS = {
    RequestKind.USERNAME: ("name", "names"),
    RequestKind.INVITE: ("invitation", "invitations"),
    RequestKind.DIALOGS: ("list of joined channels", "lists of joined channels"),
    RequestKind.LIST: ("shared folder", "shared folders"),
    RequestKind.FOLDER: ("folder", "folders"),
    RequestKind.LISTING: ("list to pick from", "lists to pick from"),
    RequestKind.PICK: ("picked channel", "picked channels"),
}


@dataclass(frozen=True, slots=True)
class RequestReport:
    """The outcome of the references of one command, and all waiting requests."""

    requested: Sequence[RequestedChannel]
    statuses: Mapping[UUID, RequestStatus]
    waiting: Sequence[WaitingKind]
    zone: ZoneInfo

    def status(self, channel: RequestedChannel) -> RequestStatus | None:
        return None if channel.request_id is None else self.statuses.get(channel.request_id)

    def failure(self, channel: RequestedChannel) -> Reason | None:
        """Returns why a reference was refused or its request failed; None otherwise."""
        status = self.status(channel)
        return status.reason if status and status.request.state is RequestState.FAILED else channel.refused


async def request_channels(
    assembled: App, tenant_id: TenantId, listed_channels: Sequence[ListedChannel], subscription: Subscription
) -> list[RequestedChannel]:
    """Requests channels in batches, with a progress bar."""
    stores = assembled.tenant(tenant_id)
    requested_channels: list[RequestedChannel] = []
    with _bar(
        "requesting channels", len(listed_channels), is_hidden=len(listed_channels) <= BATCH
    ) as progress:
        for start in range(0, len(listed_channels), BATCH):
            requested_channels += await import_channels(
                listed_channels[start : start + BATCH], subscription, stores=stores
            )
            progress.update(progress.task_ids[0], completed=len(requested_channels))
    return requested_channels


async def wait_for(
    assembled: App, tenant_id: TenantId, requested_channels: Sequence[RequestedChannel], seconds: int
) -> RequestReport:
    """Waits until the requests are answered, or until this time has passed, and returns their outcome."""
    requests = assembled.tenant(tenant_id).requests
    waiting_ids = {channel.request_id for channel in requested_channels if channel.request_id is not None}
    statuses: dict[UUID, RequestStatus] = {}
    deadline = asyncio.get_running_loop().time() + seconds
    with _bar("looking for channels", len(waiting_ids), is_hidden=not waiting_ids) as progress:
        while True:
            latest = await some_requests(waiting_ids, requests=requests, now=datetime.now(UTC))
            statuses |= {status.request.request_id: status for status in latest}
            waiting_ids = {
                request_id
                for request_id in waiting_ids
                if statuses[request_id].request.state is RequestState.OPEN
            }
            progress.update(progress.task_ids[0], completed=len(statuses) - len(waiting_ids))
            if not waiting_ids or asyncio.get_running_loop().time() >= deadline:
                break
            await asyncio.sleep(0.2 if len(waiting_ids) <= MAX_LINES else 2.0)
    zone = ZoneInfo(assembled.settings.telemetry.time_zone)
    return RequestReport(
        requested_channels, statuses, await waiting_requests(requests=requests, now=datetime.now(UTC)), zone
    )


def print_report(report: RequestReport) -> None:
    """Prints the outcome of each request, or a summary of many. Exits with 1 if one was refused or failed."""
    if len(report.requested) <= MAX_LINES:
        for channel in report.requested:
            _print_outcome(channel, report)
        if any(status.expected for status in report.statuses.values()):
            console.print("`tga channels requests` shows which requests wait, why, and until when.")
    else:
        _print_summary(report)
    if any(report.failure(channel) for channel in report.requested):
        raise typer.Exit(1)


def print_waiting(waiting_kinds: Sequence[WaitingKind], zone: ZoneInfo) -> None:
    """Prints how many requests wait, why, and until when."""
    for waiting_kind in waiting_kinds:
        singular, plural = THINGS[waiting_kind.kind]
        summary = (
            f"1 {singular} waits"
            if waiting_kind.requests == 1
            else f"{waiting_kind.requests:,} {plural} wait"
        )
        end = waiting_kind.last.estimated_end
        until = f" Estimated end: {_format_moment(end, zone)}{_in_days(end)}." if end else ""
        console.print(f"[yellow]{summary}[/]: {words_of(waiting_kind.first.reason)}.{until}")
    if any(
        waiting_kind.kind is RequestKind.USERNAME and _is_far(waiting_kind.last.estimated_end)
        for waiting_kind in waiting_kinds
    ):
        console.print(
            f"Telegram allows an account about {LOOK_UPS_PER_DAY} name look-ups per day; {words_of(FASTER)}."
        )


def show_requests(
    state: Annotated[RequestState | None, typer.Option(help="Only requests in this state.")] = None,
    limit: Annotated[
        int, typer.Option(help="Maximum number of requests, newest first.", min=1, max=1000)
    ] = 50,
    tenant: Annotated[str, typer.Option("--tenant", help="Tenant that made the requests.")] = "default",
    as_json: AsJson = False,
) -> None:
    """List requests to follow channels: which are waiting, why and until when; which succeeded,
    and which failed.
    """

    async def read(assembled: App) -> tuple[ChannelRequestsResponse, tuple[WaitingKind, ...]]:
        context = await context_for(assembled, tenant, for_people=not as_json)
        response = await list_channel_requests(context, state=state, limit=limit)
        return response, await waiting_requests(requests=context.stores.requests, now=context.now)

    response, waiting_kinds = with_app(read)
    show_value(response, partial(_print_requests, waiting_kinds=waiting_kinds), as_json=as_json)


def _print_requests(response: ChannelRequestsResponse, *, waiting_kinds: Sequence[WaitingKind]) -> None:
    if not response.items:
        console.print("There are no such requests. `tga channels add @name` makes one.")
        return
    zone = zone_here()
    table = Table("channel", "state", "reason", "next try", "estimated end", "requested", pad_edge=False)
    for request in response.items:
        table.add_row(
            escape(request.reference),
            f"[{COLOURS[request.state]}]{request.state}[/]",
            escape(request.reason or ""),
            *(
                _format_moment(at, zone)
                for at in (request.next_try_at, request.estimated_end, request.created_at)
            ),
        )
    console.print(table)
    print_waiting(waiting_kinds, zone)


def retry_requests(
    request: Annotated[
        UUID | None,
        typer.Argument(help="A failed request: its `request_id` in `tga channels requests --json`."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All failed requests.")] = False,
    tenant: Annotated[str, typer.Option("--tenant", help="Tenant that made the requests.")] = "default",
) -> None:
    """Try failed requests again. They wait behind the tenant's other requests."""
    if (request is None) != everything:
        raise typer.BadParameter("name a request, or give --all")

    async def ask(assembled: App) -> int:
        chosen_tenant = await tenant_named(assembled, tenant)
        stores = assembled.tenant(chosen_tenant.tenant_id)
        if request is not None:
            await try_again(
                request, requests=stores.requests, fates=stores.request_fates, now=datetime.now(UTC)
            )
            await record_change(
                assembled,
                chosen_tenant.tenant_id,
                "retry_channel_request",
                f"/channels/requests/{request}/retry",
            )
            return 1
        retried_count = await try_all_again(fates=stores.request_fates)
        await record_change(
            assembled,
            chosen_tenant.tenant_id,
            "retry_channel_requests",
            "/channels/requests/retry",
            retried=retried_count,
        )
        return retried_count

    count = with_app(ask)
    console.print(f"{count:,} tried again; `tga channels requests` shows what becomes of them.")


def _print_outcome(channel: RequestedChannel, report: RequestReport) -> None:
    status, failure, channel_words = (
        report.status(channel),
        report.failure(channel),
        words_of(channel.written),
    )
    if failure is not None:
        complaints.print(f"[red]{channel_words}[/]: {words_of(failure)}")
    elif channel.followed is not None:
        console.print(f"[green]{channel_words}[/]: already followed ({escape(channel.followed.title)})")
    elif status is not None and status.expected is None:
        console.print(f"[green]{channel_words}[/]: follows {words_of(status.reason)}")
    elif status is not None and status.expected is not None:
        end = status.expected.estimated_end
        until = f"; estimated end: {_format_moment(end, report.zone)}{_in_days(end)}" if end else ""
        console.print(f"[yellow]{channel_words}[/]: waits: {words_of(status.expected.reason)}{until}")


def _print_summary(report: RequestReport) -> None:
    states = [status.request.state for status in report.statuses.values()]
    followed_count = sum(channel.followed is not None for channel in report.requested)
    refused_channels = [channel for channel in report.requested if channel.refused is not None]
    console.print(
        f"{len(states):,} requested, {followed_count:,} already followed, {len(refused_channels):,} refused."
    )
    failed_channels = [
        channel for channel in report.requested if channel.refused is None and report.failure(channel)
    ]
    if done_count := states.count(RequestState.DONE):
        console.print(f"[green]{done_count:,} found so far[/]; they are followed.")
    for what, matching_channels in (("refused", refused_channels), ("failed", failed_channels)):
        for channel in matching_channels[:MAX_REASONS]:
            complaints.print(
                f"[red]{what}[/] {words_of(channel.written)}: {words_of(report.failure(channel))}"
            )
        if len(matching_channels) > MAX_REASONS:
            complaints.print(f"[red]{what}[/] and {len(matching_channels) - MAX_REASONS:,} more")
    print_waiting(report.waiting, report.zone)
    console.print("`tga channels requests` shows each of them.")


def _bar(what: str, total: int, *, is_hidden: bool) -> Progress:
    progress = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        console=complaints,
        transient=True,
        disable=is_hidden or not complaints.is_terminal,
    )
    progress.add_task("", total=total)
    return progress


def _format_moment(moment: datetime | None, zone: ZoneInfo) -> str:
    return "–" if moment is None else f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"


def _is_far(moment: datetime | None) -> bool:
    return moment is not None and (moment - datetime.now(UTC)).days >= 1


def _in_days(moment: datetime) -> str:
    days = round((moment - datetime.now(UTC)).total_seconds() / 86_400)
    return f" (in {days} days)" if days > 1 else ""
