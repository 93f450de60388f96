"""`tga tags`: the tag vocabulary, and a tenant's own names for tags."""

from typing import Annotated

import typer
from rich.table import Table

from telegram_assistant.api.endpoints.understanding.tags import list_tags as tags_of
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import print_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson
from telegram_assistant.features.understanding.tags import choose_tag
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.understanding.tenant_tags import TagChoice
from telegram_assistant.stores.postgres.understanding.vocabularies import TagState

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Tags: list, hide, rename, show again.",
)

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant whose choices are shown or changed.")]
Tag = Annotated[str, typer.Argument(help="The tag, as `tga tags list` shows it.")]


@app.command("list")
def list_tags(
    tenant: TenantName = "default",
    language: Annotated[
        str | None, typer.Option("--language", help="Only tags of this language: ru or en.")
    ] = None,
    proposed: Annotated[
        bool,
        typer.Option(
            "--proposed", help="Also list tags that channels have proposed and that are not in use yet."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List tags by topic, including those that the tenant has hidden or renamed."""
    if as_json:
        print_endpoint(lambda ask: tags_of(ask, language=language), tenant=tenant)
        return

    async def look(assembled: App) -> Table:
        choices = {
            (choice.language, choice.tag): choice
            for choice in await (await _stores(assembled, tenant)).tags.choices()
        }
        table = Table("language", "topic", "tag", "shown as", "state", "channels", pad_edge=False)
        for line in await assembled.system.vocabularies.lines(language):
            if line.state is TagState.PROPOSED and not proposed:
                continue
            choice = choices.get((line.language, line.tag), TagChoice(line.language, line.tag))
            shown_as = "hidden" if choice.hidden else choice.shown_as or ""
            table.add_row(
                line.language, line.topic, line.tag, shown_as, line.state.value, str(line.channels or "")
            )
        return table

    console.print(with_app(look))


@app.command()
def hide(tag: Tag, tenant: TenantName = "default") -> None:
    """Hide a tag from this tenant."""
    _choose(tag, tenant, "is hidden", hidden=True)


@app.command()
def rename(
    tag: Tag,
    name: Annotated[str, typer.Argument(help="The tenant's name for the tag.")],
    tenant: TenantName = "default",
) -> None:
    """Show a tag under another name."""
    _choose(tag, tenant, "", shown_as=name)


@app.command()
def show(tag: Tag, tenant: TenantName = "default") -> None:
    """Show a tag again, under its own name."""
    _choose(tag, tenant, "is shown under its own name")


def _choose(tag: str, tenant: str, done: str, *, shown_as: str | None = None, hidden: bool = False) -> None:
    async def work(assembled: App) -> str:
        known = await tenant_named(assembled, tenant)
        chosen = await choose_tag(
            tag, stores=assembled.tenant(known.tenant_id), shown_as=shown_as, hidden=hidden
        )
        await record_change(
            assembled,
            known.tenant_id,
            "choose_tag_name",
            f"/tags/{chosen[0].tag}",
            shown_as=shown_as,
            hidden=hidden,
        )
        return f"{chosen[0].tag} {done or f'is shown as {chosen[0].shown_as}'}."

    console.print(with_app(work))


async def _stores(assembled: App, name: str) -> TenantStores:
    return assembled.tenant((await tenant_named(assembled, name)).tenant_id)
