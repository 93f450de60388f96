"""Commands that set an installation up: doctor, migrate, config."""

import asyncio
from typing import Annotated

import typer
from rich.markup import escape

from telegram_assistant.cli.environment import console, doubts, environment, group_or_exit, refuse, settings_or_exit
from telegram_assistant.domain.finding import Finding, Verdict, bad, ok, warning
from telegram_assistant.errors import CannotStart, SettingsError
from telegram_assistant.features.doctor import examine_machine, examine_servers
from telegram_assistant.settings import DatabaseSettings, Settings, effective, read_settings
from telegram_assistant.stores.postgres import migrating

SIGNS = {Verdict.OK: "[green]✔[/]", Verdict.OFF: "[dim]–[/]", Verdict.WARNING: "[yellow]![/]", Verdict.BAD: "[red]✘[/]"}


def doctor() -> None:
    """Check settings, Python and every server; say what to do about what is wrong."""
    findings: list[Finding] = []
    environ = environment()
    settings: Settings | None = None
    try:
        settings = read_settings(environ)
        findings.append(ok("settings", "understood"))
    except SettingsError as error:
        findings += [
            bad("settings", problem, remedy="correct it in the environment or in .env; .env.example explains it") for problem in error.problems
        ]
    findings += [warning("settings", sentence, remedy="correct or remove it") for sentence in doubts()]
    findings += examine_machine()
    for finding in findings:
        _show(finding)
    if settings is not None:
        findings += asyncio.run(_examine(settings))
    wrong = sum(finding.verdict is Verdict.BAD for finding in findings)
    if wrong:
        console.print(f"\n[red]{wrong} thing{'s' if wrong > 1 else ''} to mend.[/]")
        raise typer.Exit(1)
    console.print("\n[green]Everything that is needed is here.[/]")


async def _examine(settings: Settings) -> list[Finding]:
    findings = []
    async for finding in examine_servers(settings):
        _show(finding)
        findings.append(finding)
    return findings


def _show(finding: Finding) -> None:
    remedy = f"  [bold]→ {escape(finding.remedy)}[/]" if finding.remedy else ""
    console.print(f"{SIGNS[finding.verdict]} {finding.subject:<22} {escape(finding.what)}{remedy}")


def migrate(
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing when all goes well.")] = False,
) -> None:
    """Create or update roles, grants and tables. Safe to run again, and while the previous release still runs."""
    database = group_or_exit(DatabaseSettings)

    def tell(sentence: str) -> None:
        if not quiet:
            console.print(sentence)

    try:
        schema = asyncio.run(migrating.migrate(database, tell=tell))
    except CannotStart as error:
        raise refuse(error.why, error.remedy) from error
    tell(f"the schema is at {schema.revision}")


def config() -> None:
    """Show the settings in force, secrets hidden."""
    group = ""
    for variable, value in effective(settings_or_exit()):
        if variable.group != group:
            group = variable.group
            console.print(f"\n[bold]{group}[/]")
        console.print(f"  {variable.name}={escape(value)}")
