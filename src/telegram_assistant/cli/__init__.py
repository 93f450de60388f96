"""The `tga` command."""

from typing import Annotated

import typer

from telegram_assistant import __version__
from telegram_assistant.cli import install, run

app = typer.Typer(
    name="tga",
    help="Unofficial Telegram Assistant: follows channels, keeps every post, tells people what is new.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(run.run)
app.command()(install.doctor)
app.command()(install.migrate)
app.command()(install.config)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tga {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and end.")] = False,
) -> None:
    """Options that stand before the command."""


def main() -> None:
    """Entry point."""
    app()
