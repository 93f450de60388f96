"""`tga run`: runs one or all roles in one process."""

import asyncio
from typing import Annotated

import typer

from telegram_assistant.api.processes import FurtherProcess
from telegram_assistant.cli.environment import refuse, settings_or_exit
from telegram_assistant.errors import CannotStart
from telegram_assistant.roles import ROLES, RoleName, run_roles
from telegram_assistant.telemetry.logging import configure_logging


def _role_names(text: str) -> list[RoleName]:
    try:
        return [RoleName(word.strip()) for word in text.split(",") if word.strip()]
    except ValueError as error:
        raise typer.BadParameter(f"{error}; known roles: {', '.join(RoleName)}") from error


def run(
    roles: Annotated[
        str, typer.Option(help="Roles to run, separated by commas.", autocompletion=lambda: list(RoleName))
    ] = ",".join(RoleName),
    process: Annotated[int, typer.Option(hidden=True)] = 1,
    listener: Annotated[int, typer.Option(hidden=True)] = 0,
) -> None:
    """Run one or more roles until stopped. On SIGTERM, running work has SHUTDOWN_GRACE_SECONDS to finish."""
    names = _role_names(roles)
    if not names:
        raise typer.BadParameter(f"no role is named; known roles: {', '.join(RoleName)}")
    settings = settings_or_exit()
    configure_logging(settings.telemetry)
    try:
        further = FurtherProcess(process, listener) if process > 1 else None
        asyncio.run(run_roles(settings, [role for role in ROLES if role.name in names], further=further))
    except CannotStart as error:
        raise refuse(error.why, error.remedy) from error
