"""`tga accounts`: Telegram accounts."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID
from zoneinfo import ZoneInfo

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.accounts import list_accounts
from telegram_assistant.api.endpoints.tenants.tenants import list_all_accounts
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import ACTOR, record_change, record_operation
from telegram_assistant.cli.commands.accounts.logins import log_in
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.cli.wording import words_of
from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.account_risk import Risk
from telegram_assistant.domain.accounts.login import LoginWay
from telegram_assistant.domain.accounts.method_words import words_for
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Rejected
from telegram_assistant.features.accounts.accounts import (
    AccountHealth,
    account_health,
    log_out_account,
    reset_account,
)
from telegram_assistant.features.tenants.tenants import all_accounts
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.stores.postgres.accounts.accounts import Account
from telegram_assistant.stores.postgres.accounts.limits import Block
from telegram_assistant.stores.postgres.tenants.tenants import Tenant
from telegram_assistant.telegram.vault import make_key

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Telegram accounts that read channels.",
)

Number = Annotated[int, typer.Argument(help="Number of the account, from `tga accounts list`.")]
MINUTE, HOUR, DAY = 60, 3600, 86_400
COLOURS = {Risk.SAFE: "green", Risk.CAREFUL: "yellow", Risk.AT_RISK: "red", Risk.LOST: "red"}


@app.command()
def login(
    phone: Annotated[
        str | None,
        typer.Option(help="Phone number with + and the country code. Without it, the command asks for it."),
    ] = None,
    qr: Annotated[
        bool,
        typer.Option(
            "--qr",
            help="Log in with a QR code that you scan in Telegram on your phone, "
            "instead of a phone number and a code.",
        ),
    ] = False,
    tenant: Annotated[str, typer.Option(help="Tenant that the account will belong to.")] = "default",
) -> None:
    """Log in to an account with a phone number and a code, or with a QR code; then with its two-step
    password, if it has one.

    The ingest role must be running.
    """
    if qr and phone:
        raise typer.BadParameter("a QR code needs no phone number", param_hint="--qr")
    way = LoginWay.QR if qr else LoginWay.PHONE
    done = with_app(lambda assembled: log_in(assembled, tenant=tenant, phone=phone, way=way))
    console.print(
        f"account {done.account_id} ({done.phone_masked}) is logged in; the ingest role starts to use it."
    )


@app.command(name="list")
def show_list(as_json: AsJson = False) -> None:
    """List accounts: the process that uses each, flood waits, and problems."""
    if as_json:
        print_endpoint(list_all_accounts)
        return

    async def read(assembled: App) -> tuple[tuple[Account, ...], tuple[Block, ...], ZoneInfo]:
        zone = ZoneInfo(assembled.settings.telemetry.time_zone)
        return await assembled.system.accounts.all(), await assembled.system.limits.blocks(), zone

    accounts, blocks, zone = with_app(read)
    if not accounts:
        console.print(
            "There are no accounts. Set SESSION_ENCRYPTION_KEY, start the ingest role, "
            "then run `tga accounts login`."
        )
        return
    table = Table(pad_edge=False)
    for name in ("account", "tenant", "phone", "state", "used by", "flood waits", "why"):
        table.add_column(name)
    for account in accounts:
        state = (
            f"[green]{account.state}[/]"
            if account.state is AccountState.ACTIVE
            else f"[yellow]{account.state}[/]"
        )
        waits = "\n".join(
            _describe_block(block, zone) for block in blocks if block.account_id == account.account_id
        )
        why = words_of(account.state_reason)
        table.add_row(
            str(account.account_id),
            account.tenant,
            account.phone_masked or "–",
            state,
            account.lease_owner or "–",
            waits or "–",
            why,
        )
    console.print(table)


@app.command()
def risk(
    tenant: Annotated[str, typer.Option(help="Tenant that owns the accounts.")] = "default",
    of_all: Annotated[
        bool, typer.Option("--all", help="Accounts of all tenants, those at the greatest risk first.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show whether accounts are at risk, why, and what is left of their request budgets."""
    if as_json:
        print_endpoint(list_all_accounts if of_all else list_accounts, tenant=tenant)
        return

    async def look(assembled: App) -> list[tuple[str, AccountHealth]]:
        now = datetime.now(UTC)
        if of_all:
            accounts = await all_accounts(
                tenants=assembled.api.tenant_operations, stores_of=assembled.tenant, now=now
            )
            return [(account.tenant.name, account.health) for account in accounts]
        known = await tenant_named(assembled, tenant)
        return [
            (tenant, health)
            for health in await account_health(stores=assembled.tenant(known.tenant_id), now=now)
        ]

    tenant_accounts = with_app(look)
    if not tenant_accounts:
        console.print("There are no accounts. `tga accounts login` adds one.")
    for name, health in tenant_accounts:
        whose = f" of {escape(name)}" if of_all else ""
        about = (
            f"account {health.account.number}{whose} ({health.account.phone_masked or 'no phone'}), "
            f"reads {health.account.channels} channels"
        )
        console.print(f"{about}: [{COLOURS[health.verdict.risk]}]{health.verdict.risk}[/]")
        for reason in health.verdict.reasons:
            console.print(f"  - {words_of(reason.why)}")
        for use in health.methods:
            left = [
                f"{allowance.left:.0f} of {allowance.at_once:.0f}"
                for allowance in use.allowances
                if allowance.left is not None
            ]
            if left:
                console.print(
                    f"    {words_of(words_for(use.method))}: {', '.join(left)} at once", style="dim"
                )


@app.command()
def pause(account: Number) -> None:
    """Stop using an account. The process that uses it stops within 20 seconds."""
    _change(account, AccountState.PAUSED, "is paused")


@app.command()
def resume(account: Number) -> None:
    """Use a paused or quarantined account again."""
    _change(account, AccountState.ACTIVE, "will be used again")


@app.command()
def quarantine(
    account: Number,
    why: Annotated[str, typer.Argument(help="Reason, shown in the list of accounts.")] = "by hand",
) -> None:
    """Stop using an account until you resume it. Its login is kept."""
    _change(account, AccountState.QUARANTINED, "is in quarantine", why)


@app.command()
def logout(account: Number) -> None:
    """End an account's session at Telegram and delete the stored session.

    The ingest role does this within half a minute.
    """

    async def work(assembled: App) -> None:
        tenant, public_id = await _whose(assembled, account)
        await log_out_account(
            public_id, by=ACTOR, stores=assembled.tenant(tenant.tenant_id), now=datetime.now(UTC)
        )
        await record_change(assembled, tenant.tenant_id, "log_out_own_account", f"/accounts/{public_id}")

    with_app(work)
    console.print(f"account {account} will be logged out.")


@app.command()
def reset(account: Number) -> None:
    """Delete the login of an account that is not in use, so that you can log in again.

    Its channels are kept.
    """

    async def work(assembled: App) -> None:
        tenant, public_id = await _whose(assembled, account)
        await reset_account(public_id, stores=assembled.tenant(tenant.tenant_id), now=datetime.now(UTC))
        await record_change(assembled, tenant.tenant_id, "reset_own_account", f"/accounts/{public_id}")

    with_app(work)
    console.print(f"account {account} can be logged in again.")


@app.command()
def key() -> None:
    """Print a new key for SESSION_ENCRYPTION_KEY. Keep a copy: without the key all sessions are lost."""
    console.print(make_key())


async def _whose(assembled: App, number: int) -> tuple[Tenant, UUID]:
    """The tenant of an account, and the account's id in that tenant."""
    name = next(
        (account.tenant for account in await assembled.system.accounts.all() if account.account_id == number),
        None,
    )
    if name is None:
        raise Rejected(Reason("account_unknown_by_id", "there is no account {account_id}", account_id=number))
    tenant = await tenant_named(assembled, name)
    own = await assembled.tenant(tenant.tenant_id).accounts.all()
    return tenant, next(account.public_id for account in own if account.number == number)


def _change(account: int, state: AccountState, outcome: str, why: str | None = None) -> None:
    async def work(assembled: App) -> None:
        await assembled.system.accounts.change(AccountId(account), state, None if why is None else quote(why))
        await record_operation(assembled, "change_account", f"/accounts/{account}", state=state, why=why)

    with_app(work)
    console.print(f"account {account} {outcome}.")


def _describe_block(block: Block, zone: ZoneInfo) -> str:
    left = (block.until - datetime.now(UTC)).total_seconds()
    long = (
        f"{left / DAY:.0f} days"
        if left > 2 * DAY
        else f"{left / HOUR:.0f} h"
        if left > 2 * HOUR
        else f"{max(1, left / MINUTE):.0f} min"
    )
    return f"{block.method} until {block.until.astimezone(zone):%Y-%m-%d %H:%M} ({long})"
