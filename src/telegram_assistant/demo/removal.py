"""Removes a demo: its processes, its data on given servers, and its folder."""

from collections.abc import Mapping
from pathlib import Path

from telegram_assistant.demo.folder import existing_folder
from telegram_assistant.demo.graph import forget_graph
from telegram_assistant.demo.processes import end_leftovers
from telegram_assistant.demo.servers import ExistingServers, choose_servers, forget_existing
from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason


async def remove_demo(path: Path, *, environ: Mapping[str, str]) -> list[str] | None:
    """Deletes what the demo has created and nothing else.

    Returns the names of other files in its folder; None if there is no demo.
    """
    with existing_folder(path) as folder:
        if folder is None:
            return None
        end_leftovers(folder)
        await forget_graph(folder, environ)
        if not folder.state.has_own_servers:
            servers = choose_servers(environ)
            if not isinstance(servers, ExistingServers):
                raise CannotStart(
                    Reason("demo_on_given_servers", "this demo has a database on external servers"),
                    remedy=Reason(
                        "set_given_servers",
                        "Set DATABASE_URL and REDIS_URL to the values used when it was created",
                    ),
                )
            await forget_existing(servers, folder)
        return folder.remove()
