"""Every command that prints data prints it for programs too: in the shape that the API describes."""

import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import jsonschema_rs
import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from telegram_assistant.cli import app
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.api_clients import description
from testkit.factories import (
    fresh_number,
    make_channel,
    make_deleted,
    make_page,
    make_post,
    make_subscription,
)

ENDPOINTS = {
    "accounts list": "list_all_accounts",
    "accounts risk": "list_accounts",
    "ask": "ask_question",
    "ai budget": "list_tenants",
    "ai policy": "list_policies",
    "ai usage": "get_usage",
    "changes": "list_changes",
    "channels coverage": "list_coverage",
    "channels joined": "list_joined_channels",
    "channels list": "list_channels",
    "channels requests": "list_channel_requests",
    "channels show": "get_channel_activity",
    "channels record": "get_channel_record",
    "dead-letters list": "list_dead_letters",
    "digest": "get_digest",
    "digest plan": "get_digest_plan",
    "graph forwards": "list_forwards",
    "graph spread": "get_spread",
    "interests list": "list_interests",
    "marks list": "list_story_marks",
    "links list": "list_public_links",
    "keys create": "create_api_key",
    "keys list": "list_api_keys",
    "lists list": "list_lists",
    "people list": "list_members",
    "processes": "list_processes",
    "search": "search_posts",
    "stories": "list_stories",
    "tags list": "list_tags",
    "tenants budget": "get_tenant",
    "tenants create": "create_tenant",
    "tenants list": "list_tenants",
    "tenants quota": "get_tenant",
    "tenants resume": "resume_tenant",
    "tenants suspend": "suspend_tenant",
    "today": "get_today",
    "trends": "list_trends",
    "watches alerts": "list_alerts",
    "watches list": "list_watches",
    "watches preview": "preview_watch",
}
"""Which endpoint answers like the command."""
NEED_MORE = {
    "dead-letters show": "get_dead_letter",
    "graph links": "list_linking_posts",
    "links create": "create_public_link",
    "graph similar": "list_similar_channels",
    "lists show": "get_list",
}
"""They need a dead letter, a graph or a list; the same code prints them."""
WITHOUT_ENDPOINT = {
    "ai status",
    "config",
    "doctor",
    "folders list",
    "graph first",
    "jobs list",
    "media status",
    "models list",
    "models try",
    "scheduler status",
    "streams",
}
"""Their shapes are in cli/response_models.py."""
PRINT_NO_DATA = {
    "accounts key",
    "accounts login",
    "accounts logout",
    "accounts pause",
    "accounts quarantine",
    "accounts reset",
    "accounts resume",
    "ai consent",
    "channels add",
    "channels export",
    "channels import",
    "channels pick",
    "channels poll",
    "channels remove",
    "channels retry",
    "channels verify",
    "dead-letters discard",
    "dead-letters replay",
    "demo",
    "digest set-plan",
    "folders add",
    "folders remove",
    "interests add",
    "interests less",
    "interests more",
    "interests mute",
    "interests remove",
    "interests reset",
    "marks done",
    "marks follow",
    "marks remove",
    "marks save",
    "interests undo",
    "jobs run",
    "keys operator",
    "links revoke",
    "keys revoke",
    "media sweep",
    "migrate",
    "models pull",
    "people link",
    "people remove",
    "prepare",
    "rebuild graph",
    "rebuild text",
    "rebuild stories",
    "rebuild vectors",
    "retag",
    "run",
    "scheduler reset",
    "streams refill",
    "streams resume",
    "tags hide",
    "tags rename",
    "tags show",
    "lists add",
    "lists create",
    "lists delete",
    "lists move",
    "lists note",
    "lists remove",
    "lists rename",
    "lists restore",
    "watches add",
    "watches pause",
    "watches remove",
    "watches resume",
    "watches seen",
}

WHERE_TO_PUT_A_COMMAND = (
    "A command with --json belongs into ENDPOINTS, with the endpoint that it prints, or into "
    "WITHOUT_ENDPOINT, with its shape in cli/response_models.py; one that prints no data into PRINT_NO_DATA."
)


def commands(group: TyperGroup, prefix: str = "") -> Iterator[tuple[str, Any]]:
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, TyperGroup):
            yield from commands(command, f"{prefix}{name} ")
            if command.invoke_without_command:
                yield f"{prefix}{name}", command
        else:
            yield f"{prefix}{name}", command


def test_every_command_that_prints_data_has_the_option() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    known = dict(commands(root))
    with_json = {
        name for name, command in known.items() if any("--json" in param.opts for param in command.params)
    }
    assert with_json == {*ENDPOINTS, *NEED_MORE, *WITHOUT_ENDPOINT}, WHERE_TO_PUT_A_COMMAND
    assert known.keys() - with_json == PRINT_NO_DATA, WHERE_TO_PUT_A_COMMAND


@pytest.fixture(scope="module")
def openapi() -> dict[str, Any]:
    return description()


@pytest.fixture(scope="module")
async def tenant(system: SystemStores) -> tuple[str, int]:
    """Somebody with something to list everywhere."""
    name, number = f"acme {fresh_number()}", fresh_number()
    known = await system.tenants.ensure(name)
    channel_id = await make_channel(system, username=f"gorod_{number}")
    await system.channels.subscribe(known.tenant_id, make_subscription(channel_id))
    post = make_post(channel_id=channel_id, text="Первый снег")
    await system.landing.land(make_page(post), Claim(channel_id, 0))
    await system.posts.save_derived([Derived(post, 1, "ru", ())])
    await make_deleted(system, channel_id, at=datetime.now(UTC))
    await system.accounts.add(known.tenant_id)
    await system.users.join(known.tenant_id, f"person of {name}")
    return name, channel_id


def words_of(command: str, tenant: str, channel_id: int) -> list[str]:
    """The command as somebody would type it."""
    given = {
        "accounts list": [],
        "channels show": [str(channel_id), "--tenant", tenant],
        "channels record": [str(channel_id), "--tenant", tenant],
        "ai budget": ["--tenant", tenant, "--money", "5"],
        "dead-letters list": [],
        "graph spread": [f"{channel_id}/1", "--tenant", tenant],
        "keys create": ["a key", "--tenant", tenant],
        "processes": [],
        "search": ["снег", "since:2020-01-01", "--tenant", tenant],
        "ask": ["Какой", "снег?", "--tenant", tenant],
        "tenants budget": [tenant],
        "tenants create": [f"new {fresh_number()}"],
        "tenants list": [],
        "tenants quota": [tenant],
        "tenants resume": [tenant],
        "tenants suspend": [tenant, "--why", "a test"],
        "watches preview": ["снег", "--tenant", tenant],
    }
    return [*command.split(), *given.get(command, ["--tenant", tenant]), "--json"]


async def test_where_a_post_was_seen_first_is_printed_for_programs(
    runner: CliRunner, tenant: tuple[str, int]
) -> None:
    name, channel_id = tenant
    done = await asyncio.to_thread(
        runner.invoke, app, ["graph", "first", f"{channel_id}/1", "--tenant", name, "--json"]
    )
    printed = json.loads(done.stdout)
    assert (printed["is_original"], printed["answered_by"]) == (printed["post_id"] is not None, "postgres")


@pytest.mark.parametrize(
    "command", sorted(ENDPOINTS, key=lambda endpoint: endpoint == "tenants suspend")
)  # it comes last
async def test_what_is_printed_is_what_the_api_describes(
    runner: CliRunner, openapi: dict[str, Any], tenant: tuple[str, int], command: str
) -> None:
    done = await asyncio.to_thread(runner.invoke, app, words_of(command, *tenant))
    assert done.stdout, done.stderr
    printed = json.loads(done.stdout)
    schema = schema_of(openapi, ENDPOINTS[command])
    jsonschema_rs.validator_for({**schema, "components": openapi["components"]}).validate(printed)
    shape = openapi["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    assert printed.keys() == shape["properties"].keys()


def schema_of(openapi: dict[str, Any], operation: str) -> dict[str, Any]:
    endpoint = next(
        candidate
        for path in openapi["paths"].values()
        for candidate in path.values()
        if candidate["operationId"] == operation
    )
    success = next(answer for status, answer in endpoint["responses"].items() if status.startswith("2"))
    schema: dict[str, Any] = success["content"]["application/json"]["schema"]
    return schema


@pytest.mark.parametrize("command", sorted(WITHOUT_ENDPOINT - {"graph first", "models try"}))
async def test_where_the_api_has_no_answer_the_manner_is_the_same(runner: CliRunner, command: str) -> None:
    done = await asyncio.to_thread(runner.invoke, app, [*command.split(), "--json"])
    printed = json.loads(done.stdout)
    assert isinstance(printed.get("items", []), list)
    assert all(name == name.lower() for name in printed)
