"""`tga tags`: the tags of this installation, and how a tenant wants them shown."""

from collections.abc import Callable
from typing import Annotated

import typer
from rich.table import Table

from telegram_assistant.assembly import App
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import console
from telegram_assistant.domain.vocabulary import LANGUAGES, tag_in
from telegram_assistant.errors import Rejected
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.tenant_tags import TagChoice
from telegram_assistant.stores.postgres.vocabularies import TagState

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True, help="Tags: list, hide, rename, show again.")

TenantName = Annotated[str, typer.Option("--tenant", help="For whom.")]
Tag = Annotated[str, typer.Argument(help="The tag, as `tga tags list` shows it.")]


@app.command("list")
def list_tags(
    tenant: TenantName = "default",
    language: Annotated[str | None, typer.Option("--language", help="Only ru or en.")] = None,
    proposed: Annotated[bool, typer.Option("--proposed", help="Also what channels propose and is no tag yet.")] = False,
) -> None:
    """All tags by topic, with what the tenant has hidden or renamed."""

    async def look(assembled: App) -> Table:
        choices = {(one.language, one.tag): one for one in await (await _stores(assembled, tenant)).tags.choices()}
        table = Table("language", "topic", "tag", "shown as", "state", "channels", pad_edge=False)
        for line in await assembled.system.vocabularies.lines(language):
            if line.state is TagState.PROPOSED and not proposed:
                continue
            choice = choices.get((line.language, line.tag), TagChoice(line.language, line.tag))
            shown = "hidden" if choice.hidden else choice.shown_as or ""
            table.add_row(line.language, line.topic, line.tag, shown, line.state.value, str(line.channels or ""))
        return table

    console.print(with_app(look))


@app.command()
def hide(tag: Tag, tenant: TenantName = "default") -> None:
    """Show a tag no more to this tenant."""
    _choose(tag, tenant, lambda known: TagChoice(known.language, known.tag, known.shown_as, hidden=True), "is hidden")


@app.command()
def rename(tag: Tag, name: Annotated[str, typer.Argument(help="What this tenant calls it.")], tenant: TenantName = "default") -> None:
    """Show a tag under another name."""
    shown_as = tag_in(name)
    _choose(tag, tenant, lambda known: TagChoice(known.language, known.tag, shown_as or _no_tag(name)), f"is shown as {shown_as}")


@app.command()
def show(tag: Tag, tenant: TenantName = "default") -> None:
    """Show a tag again, under its own name."""
    _choose(tag, tenant, lambda known: TagChoice(known.language, known.tag), "is shown as it is")


def _choose(tag: str, tenant: str, choice: Callable[[TagChoice], TagChoice], done: str) -> None:
    async def work(assembled: App) -> str:
        stores = await _stores(assembled, tenant)
        vocabulary = await assembled.system.vocabularies.current()
        languages = [language for language in LANGUAGES if tag.casefold() in vocabulary.of(language)]
        if not languages:
            raise Rejected(f"there is no tag {tag!r}; `tga tags list` shows them")
        before = {(one.language, one.tag): one for one in await stores.tags.choices()}
        for language in languages:
            await stores.tags.choose(choice(before.get((language, tag.casefold()), TagChoice(language, tag.casefold()))))
        return f"{tag.casefold()} {done}."

    console.print(with_app(work))


def _no_tag(name: str) -> str:
    raise Rejected(f"{name!r} is no name for a tag: write one to four words")


async def _stores(assembled: App, name: str) -> TenantStores:
    known = await assembled.system.tenants.by_name(name)
    if known is None:
        raise Rejected(f"there is no tenant {name!r}")
    return assembled.tenant(known.tenant_id)
