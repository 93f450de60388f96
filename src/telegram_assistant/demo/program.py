"""The program in the demo: its schema, a filled tenant, and its roles: api here,
ingest and worker in a process beside it.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass

from telegram_assistant.assembly import App, assemble
from telegram_assistant.demo.environment import DemoEnvironment, OpenDemo
from telegram_assistant.demo.graph import choose_graph, graph_variables
from telegram_assistant.demo.meaning import DemoModel, find_model
from telegram_assistant.demo.owner import go_on_after, read_first_stories, write_down_wishes
from telegram_assistant.demo.progress import DemoStep, report
from telegram_assistant.demo.servers import LOOPBACK, free_port
from telegram_assistant.demo.stopping import DemoStopped
from telegram_assistant.demo.tenant import (
    fill_tenant,
    login_address,
    search_once,
    wait_for_channels,
    wait_for_first,
)
from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.roles import ROLES, RoleName, run_roles
from telegram_assistant.settings import GraphSettings, plain, read_settings
from telegram_assistant.stores.postgres.migrating import migrate
from telegram_assistant.telemetry.logging import configure_logging

FILL_SECONDS = 300.0


async def run_program(environment: DemoEnvironment) -> None:
    """Runs all roles until stopped, and fills the tenant meanwhile."""
    stopping, progress = environment.stopping, environment.progress
    extras = await stopping.unless_stopped(choose_extras(environment))
    variables = {**demo_variables(environment), **extras.variables}
    settings = read_settings(variables)
    with environment.folder.log("api").open("w", encoding="utf-8") as log:
        configure_logging(settings.telemetry, stream=log)
        await stopping.unless_stopped(
            report(progress, DemoStep.SCHEMA, migrate(settings.database, tell=lambda _: None))
        )
        async with assemble(settings, with_accounts=True, with_graph=False) as app:
            key = await stopping.unless_stopped(
                report(progress, DemoStep.ACCOUNTS, fill_tenant(environment.telegram, app))
            )
            await stopping.unless_stopped(write_down_wishes(app))
            await environment.background.send(
                json.dumps({"variables": variables, "web_port": environment.telegram.web_port})
            )
            api = asyncio.create_task(
                run_roles(
                    settings,
                    [role for role in ROLES if role.name is RoleName.API],
                    wait_for_stop=stopping.wait,
                )
            )
            api.add_done_callback(lambda _: stopping.stop())
            try:
                environment.announce(
                    await stopping.unless_stopped(_wait_until_open(environment, app, key, extras.notes))
                )
                await go_on_after(stopping.unless_stopped(_use_first(environment, app, key)))
            except DemoStopped:
                pass
            except BaseException:
                stopping.stop()
                await asyncio.wait((api,))
                raise
        await api


async def _use_first(environment: DemoEnvironment, app: App, key: str) -> None:
    await search_once(port=environment.port, key=key)
    await read_first_stories(app)


async def _wait_until_open(
    environment: DemoEnvironment, app: App, key: str, notes: tuple[Reason, ...]
) -> OpenDemo:
    try:
        async with asyncio.timeout(FILL_SECONDS):
            await report(environment.progress, DemoStep.CHANNELS, wait_for_channels(app))
            await report(
                environment.progress, DemoStep.POSTS, wait_for_first("feed", port=environment.port, key=key)
            )
            await report(
                environment.progress,
                DemoStep.STORIES,
                wait_for_first("stories", port=environment.port, key=key),
            )
    except TimeoutError as error:
        raise CannotStart(
            Reason(
                "demo_without_posts", "no posts have arrived within {seconds:.0f} s", seconds=FILL_SECONDS
            ),
            remedy=Reason(
                "see_demo_logs", "See the files in {folder}", folder=str(environment.folder.log("api").parent)
            ),
        ) from error
    return OpenDemo(f"http://{LOOPBACK}:{environment.port}/", await login_address(app), key, notes)


@dataclass(frozen=True, slots=True)
class DemoExtras:
    """Parts of the program that need more than PostgreSQL and Redis: their settings, and what people are told
    about them.
    """

    variables: Mapping[str, str]
    notes: tuple[Reason, ...]


async def choose_extras(environment: DemoEnvironment) -> DemoExtras:
    """Search by meaning, if there is a sentence model, and the graph, if there is a server for it."""
    folder, variables, notes = environment.folder, dict[str, str](), list[Reason]()
    model = await asyncio.to_thread(find_model, environment.environ)
    if isinstance(model, DemoModel):
        variables |= model.variables(folder)
        notes.append(
            Reason("demo_finds_by_meaning", "Search also finds posts by meaning ({model})", model=model.name)
        )
    else:
        notes.append(model)
    graph = await choose_graph(folder, environment.environ)
    if isinstance(graph, GraphSettings):
        variables |= graph_variables(graph)
    else:
        notes.append(graph)
    return DemoExtras(variables, tuple(notes))


def demo_variables(environment: DemoEnvironment) -> dict[str, str]:
    """The settings that every demo has.

    None comes from the environment, so that no key and no address of another installation is used.
    """
    folder, telegram, database = environment.folder, environment.telegram, environment.servers.database
    return {
        "DATABASE_URL": plain(database.url),
        "DATABASE_SYSTEM_URL": plain(database.system_url),
        "DATABASE_ADMIN_URL": plain(database.admin_url),
        "REDIS_URL": plain(environment.servers.redis.url),
        "TELEGRAM_API_ID": "1",
        "TELEGRAM_API_HASH": "any",
        "TELEGRAM_DC_ADDR": telegram.host,
        "TELEGRAM_DC_PORT": str(telegram.ports[min(telegram.ports)]),
        "TELEGRAM_DC_PUBLIC_KEY": telegram.key,
        "SESSION_ENCRYPTION_KEY": folder.state.session_key,
        "PARSER_SCHEDULER_INTERVAL_SEC": "5",
        "CRAWL_ALLOW": LOOPBACK,
        "CRAWL_SITE_INTERVAL_SECONDS": "0.2",
        "CRAWL_TIMEOUT_SECONDS": "3",
        "FILES_DIR": str(folder.path / "files"),
        "MEDIA_SPOOL_DIR": str(folder.path / "spool"),
        "HTTP_HOST": environment.host,
        "API_PORT": str(environment.port),
        "INGEST_PORT": str(free_port()),
        "WORKER_PORT": str(free_port()),
        "SHUTDOWN_GRACE_SECONDS": "10",
        "HOSTNAME": "demo",
    }
