"""Commands for looking at an installation: doctor, config."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Annotated

import typer
from rich.markup import escape

from telegram_assistant.cli.environment import console, doubts, environment, settings_or_exit
from telegram_assistant.cli.output import AsJson, print_json
from telegram_assistant.cli.response_models import (
    FindingResponse,
    FindingsResponse,
    SettingResponse,
    SettingsResponse,
)
from telegram_assistant.cli.wording import say_here, words_of
from telegram_assistant.domain.operations.diagnosis import Finding, Severity, bad, ok, warning
from telegram_assistant.errors import SettingsError
from telegram_assistant.features.operations.doctor import examine, examine_machine, examine_running
from telegram_assistant.features.operations.readiness import CheckedRole
from telegram_assistant.pipeline import WITH_GRAPH
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.settings import Settings, effective, read_settings

CORRECT_SETTING = Reason(
    "correct_setting", "correct it in the environment or in .env; .env.example explains it"
)
SIGNS = {
    Severity.OK: "[green]✔[/]",
    Severity.OFF: "[dim]–[/]",
    Severity.WARNING: "[yellow]![/]",
    Severity.BAD: "[red]✘[/]",
}


def doctor(
    production: Annotated[
        bool,
        typer.Option(
            "--production",
            help="Also check the running roles: smoke tests, and the eight points of the readiness list.",
        ),
    ] = False,
    at: Annotated[
        list[str] | None,
        typer.Option(
            help="Host of a role that does not run on this machine, like worker=10.0.0.7; "
            "repeat it for each role.",
            metavar="ROLE=HOST",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check settings, Python and every server, and say how to fix problems."""
    hosts, show = _hosts(at or []), _show_nothing if as_json else _show
    findings: list[Finding] = []
    environ = environment()
    settings: Settings | None = None
    try:
        settings = read_settings(environ)
        findings.append(ok("settings", Reason("settings_valid", "valid")))
    except SettingsError as error:
        findings += [bad("settings", quote(problem), remedy=CORRECT_SETTING) for problem in error.problems]
    findings += [
        warning("settings", quote(sentence), remedy=Reason("remove_setting", "correct or remove it"))
        for sentence in doubts()
    ]
    findings += [] if settings is not None else examine_machine()
    for finding in findings:
        show(finding)
    if settings is not None:
        findings += asyncio.run(_examine(examine(settings, stages=WITH_GRAPH), show))
    if settings is not None and production:
        if not as_json:
            console.print("\nThe running installation:")
        findings += asyncio.run(_examine(examine_running(settings, hosts), show))
    wrong = sum(finding.verdict is Severity.BAD for finding in findings)
    if as_json:
        print_json(FindingsResponse(items=[_response(finding) for finding in findings], ok=not wrong))
        raise typer.Exit(1 if wrong else 0)
    if wrong:
        console.print(f"\n[red]{wrong} problem{'s' if wrong > 1 else ''} to fix.[/]")
        raise typer.Exit(1)
    console.print("\n[green]All checks passed.[/]")


async def _examine(examination: AsyncIterator[Finding], show: Callable[[Finding], None]) -> list[Finding]:
    findings = []
    async for finding in examination:
        show(finding)
        findings.append(finding)
    return findings


def _hosts(arguments: list[str]) -> dict[CheckedRole, str]:
    try:
        return {
            CheckedRole(role): host for role, _, host in (argument.partition("=") for argument in arguments)
        }
    except ValueError as error:
        raise typer.BadParameter(
            f"write it like worker=10.0.0.7; known roles: {', '.join(CheckedRole)}", param_hint="--at"
        ) from error


def _show_nothing(_finding: Finding) -> None:
    """Prints nothing: with --json all findings are printed at the end."""


def _show(finding: Finding) -> None:
    remedy = f"  [bold]→ {words_of(finding.remedy)}[/]" if finding.remedy else ""
    console.print(f"{SIGNS[finding.verdict]} {finding.subject:<22} {words_of(finding.what)}{remedy}")


def _response(finding: Finding) -> FindingResponse:
    return FindingResponse(
        subject=finding.subject,
        verdict=finding.verdict,
        code=finding.what.code,
        what=say_here(finding.what),
        remedy=say_here(finding.remedy),
    )


def config(as_json: AsJson = False) -> None:
    """Show the settings in force; secrets are hidden."""
    if as_json:
        settings = effective(settings_or_exit())
        print_json(
            SettingsResponse(
                items=[
                    SettingResponse(name=variable.name, group=variable.group, value=value)
                    for variable, value in settings
                ]
            )
        )
        return
    group = ""
    for variable, value in effective(settings_or_exit()):
        if variable.group != group:
            group = variable.group
            console.print(f"\n[bold]{group}[/]")
        console.print(f"  {variable.name}={escape(value)}")
