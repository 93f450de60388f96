"""`tga tags`: the tag vocabulary, and a tenant's own names for tags."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from telegram_assistant.api.endpoints.understanding.tags import TagResponse, TagsResponse
from telegram_assistant.api.endpoints.understanding.tags import list_tags as tags_of
from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_change
from telegram_assistant.cli.connected import tenant_named, with_app
from telegram_assistant.cli.endpoints import show_endpoint
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.cli.response_models import InstallationTagResponse, InstallationTagsResponse
from telegram_assistant.features.understanding.tags import choose_tag, vocabulary_of_installation

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
            "--proposed",
            help="Also list tags that are not in use, proposed or retired ones, with the state of each tag.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List tags by topic, including those that the tenant has hidden or renamed."""
    if proposed:
        _list_installation_tags(tenant, language, as_json=as_json)
        return
    show_endpoint(
        lambda context: tags_of(context, language=language), _print_tags, as_json=as_json, tenant=tenant
    )


def _list_installation_tags(tenant: str, language: str | None, *, as_json: bool) -> None:
    async def look(assembled: App) -> InstallationTagsResponse:
        chosen_tenant = await tenant_named(assembled, tenant)
        tags = await vocabulary_of_installation(
            stores=assembled.tenant(chosen_tenant.tenant_id),
            vocabularies=assembled.system.vocabularies,
            language=language,
        )
        return InstallationTagsResponse(
            items=[
                InstallationTagResponse(**asdict(entry.tag), state=entry.state, channels=entry.channels)
                for entry in tags
            ]
        )

    show_value(with_app(look), _print_installation_tags, as_json=as_json)


def _print_tags(tags: TagsResponse) -> None:
    table = Table("language", "topic", "tag", "shown as", pad_edge=False)
    for tag in tags.items:
        table.add_row(tag.language, tag.topic, tag.tag, _shown_as(tag))
    console.print(table)


def _print_installation_tags(tags: InstallationTagsResponse) -> None:
    table = Table("language", "topic", "tag", "shown as", "state", "channels", pad_edge=False)
    for tag in tags.items:
        table.add_row(
            tag.language, tag.topic, tag.tag, _shown_as(tag), tag.state.value, str(tag.channels or "")
        )
    console.print(table)


def _shown_as(tag: TagResponse) -> str:
    return "hidden" if tag.hidden else tag.shown_as or ""


@app.command()
def hide(tag: Tag, tenant: TenantName = "default") -> None:
    """Hide a tag from this tenant."""
    _choose(tag, tenant, "is hidden", is_hidden=True)


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


def _choose(
    tag: str, tenant: str, outcome: str, *, shown_as: str | None = None, is_hidden: bool = False
) -> None:
    async def work(assembled: App) -> str:
        chosen_tenant = await tenant_named(assembled, tenant)
        chosen_tags = await choose_tag(
            tag, stores=assembled.tenant(chosen_tenant.tenant_id), shown_as=shown_as, is_hidden=is_hidden
        )
        await record_change(
            assembled,
            chosen_tenant.tenant_id,
            "choose_tag_name",
            f"/tags/{chosen_tags[0].tag}",
            shown_as=shown_as,
            hidden=is_hidden,
        )
        return f"{chosen_tags[0].tag} {outcome or f'is shown as {chosen_tags[0].shown_as}'}."

    console.print(with_app(work))
