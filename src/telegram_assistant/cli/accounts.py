"""`tga accounts`: the accounts that read."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.domain.account import AccountState
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.telegram.vault import make_key

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Accounts that read.")

Number = Annotated[int, typer.Argument(help="A number from `tga accounts list`.")]


@app.command(name="list")
def show_list() -> None:
    """Every account, who uses it, and what is wrong with it."""
    accounts = with_app(lambda assembled: assembled.system.accounts.all())
    if not accounts:
        console.print("There are no accounts. Set TELEGRAM_SESSION_STRING and SESSION_ENCRYPTION_KEY, then start the ingest role.")
        return
    table = Table(pad_edge=False)
    for name in ("account", "tenant", "phone", "state", "used by", "why"):
        table.add_column(name)
    for one in accounts:
        state = f"[green]{one.state}[/]" if one.state is AccountState.ACTIVE else f"[yellow]{one.state}[/]"
        cells = (str(one.account_id), one.tenant, one.phone_masked or "–", state, one.lease_owner or "–", escape(one.state_reason or ""))
        table.add_row(*cells)
    console.print(table)


@app.command()
def pause(account: Number) -> None:
    """Stop using an account; whoever uses it lets go within 20 seconds."""
    _set(account, AccountState.PAUSED, f"account {account} is paused")


@app.command()
def resume(account: Number) -> None:
    """Use an account again."""
    _set(account, AccountState.ACTIVE, f"account {account} will be used again")


@app.command()
def key() -> None:
    """Print a new key for SESSION_ENCRYPTION_KEY. Keep a copy: without it the sessions are lost."""
    console.print(make_key())


def _set(account: int, state: AccountState, told: str) -> None:
    if not with_app(lambda assembled: assembled.system.accounts.set_state(AccountId(account), state)):
        complaints.print(f"[red]There is no account {account}.[/]")
        raise typer.Exit(1)
    console.print(f"{told}.")
