"""`tga accounts`: Telegram accounts."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.api.endpoints.accounts import AccountResponse, list_accounts
from telegram_assistant.api.endpoints.tenants.tenants import TenantAccountsResponse, list_all_accounts
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import ACTOR, record_change, record_operation
from telegram_assistant.cli.commands.accounts.logins import log_in
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console, zone_here
from telegram_assistant.cli.output import AsJson
from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.accounts.account_risk import Risk
from telegram_assistant.domain.accounts.login import LoginWay
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.features.accounts.accounts import (
    change_account_state,
    find_account_owner,
    log_out_account,
    reset_account,
)
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
    account = with_app(lambda assembled: log_in(assembled, tenant=tenant, phone=phone, way=way))
    console.print(
        f"account {account.account_id} ({account.phone_masked}) is logged in; "
        "the ingest role starts to use it."
    )


@app.command(name="list")
def show_list(as_json: AsJson = False) -> None:
    """List accounts: the process that uses each, flood waits, and problems."""
    show_endpoint(list_all_accounts, _print_accounts, as_json=as_json)


def _print_accounts(response: TenantAccountsResponse) -> None:
    if not response.items:
        console.print(
            "There are no accounts. Set SESSION_ENCRYPTION_KEY, start the ingest role, "
            "then run `tga accounts login`."
        )
        return
    table = Table(pad_edge=False)
    for name in ("account", "tenant", "phone", "state", "used by", "flood waits", "why"):
        table.add_column(name)
    for account in sorted(response.items, key=lambda account: account.number):
        colour = "green" if account.state is AccountState.ACTIVE else "yellow"
        table.add_row(
            str(account.number),
            escape(account.tenant_name),
            account.phone or "–",
            f"[{colour}]{account.state}[/]",
            account.used_by or "–",
            _flood_waits(account) or "–",
            escape(account.state_reason or ""),
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
    if of_all:
        show_endpoint(
            list_all_accounts,
            lambda response: _print_risks([(account, account.tenant_name) for account in response.items]),
            as_json=as_json,
            tenant=tenant,
        )
    else:
        show_endpoint(
            list_accounts,
            lambda response: _print_risks([(account, "") for account in response.items]),
            as_json=as_json,
            tenant=tenant,
        )


def _print_risks(accounts: Sequence[tuple[AccountResponse, str]]) -> None:
    """Prints accounts, each with the name of its tenant; "" if it is known."""
    if not accounts:
        console.print("There are no accounts. `tga accounts login` adds one.")
    for account, tenant in accounts:
        owner_note = f" of {escape(tenant)}" if tenant else ""
        about = f"account {account.number}{owner_note} ({account.phone or 'no phone'})"
        risk_word = f"[{COLOURS[account.risk]}]{account.risk}[/]"
        console.print(f"{about}, reads {account.channels} channels: {risk_word}")
        for reason in account.reasons:
            console.print(f"  - {escape(reason.why)}")
        for use in account.methods:
            allowances_left = [
                f"{allowance.left:.0f} of {allowance.at_once:.0f}"
                for allowance in use.allowances
                if allowance.left is not None
            ]
            if allowances_left:
                method = f"{use.purpose} ({use.method})" if use.purpose else use.method
                console.print(f"    {escape(method)}: {', '.join(allowances_left)} at once", style="dim")


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
        tenant, public_id = await _find_owner(assembled, account)
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
        tenant, public_id = await _find_owner(assembled, account)
        await reset_account(public_id, stores=assembled.tenant(tenant.tenant_id), now=datetime.now(UTC))
        await record_change(assembled, tenant.tenant_id, "reset_own_account", f"/accounts/{public_id}")

    with_app(work)
    console.print(f"account {account} can be logged in again.")


@app.command()
def key() -> None:
    """Print a new key for SESSION_ENCRYPTION_KEY. Keep a copy: without the key all sessions are lost."""
    console.print(make_key())


async def _find_owner(app: App, number: int) -> tuple[Tenant, UUID]:
    """The tenant of an account, and the account's id in that tenant."""
    owner = await find_account_owner(AccountId(number), accounts=app.system.accounts)
    return await tenant_named(app, owner.tenant), owner.public_id


def _change(account: int, state: AccountState, outcome: str, why: str | None = None) -> None:
    async def work(assembled: App) -> None:
        await change_account_state(AccountId(account), state, why=why, accounts=assembled.system.accounts)
        await record_operation(assembled, "change_account", f"/accounts/{account}", state=state, why=why)

    with_app(work)
    console.print(f"account {account} {outcome}.")


def _flood_waits(account: AccountResponse) -> str:
    now = datetime.now(UTC)
    waits = [
        (use.blocked_until, use.method)
        for use in account.methods
        if use.blocked_until is not None and use.blocked_until > now
    ]
    return "\n".join(_describe_wait(method, until, now) for until, method in sorted(waits))


def _describe_wait(method: str, until: datetime, now: datetime) -> str:
    remaining_seconds = (until - now).total_seconds()
    long = (
        f"{remaining_seconds / DAY:.0f} days"
        if remaining_seconds > 2 * DAY
        else f"{remaining_seconds / HOUR:.0f} h"
        if remaining_seconds > 2 * HOUR
        else f"{max(1, remaining_seconds / MINUTE):.0f} min"
    )
    return f"{method} until {until.astimezone(zone_here()):%Y-%m-%d %H:%M} ({long})"
