"""Copies of the checkout, to be changed by a test."""

import shutil
from pathlib import Path

CHECKOUT = Path(__file__).parent.parent
PROGRAM = "src/telegram_assistant"


def copy_checkout(copy: Path) -> None:
    """The program, its tests and its documentation, with the bytecode of what stays as it is."""
    for folder in ("src", "tests", "bench", "testkit", "docs", "scripts", "deploy"):
        shutil.copytree(
            CHECKOUT / folder, copy / folder, ignore=shutil.ignore_patterns("*.pyc.*")
        )  # being written just now
    for file in ("pyproject.toml", "SECURITY.md", "compose.yaml"):
        shutil.copy(CHECKOUT / file, copy)


def insert(file: Path, text: str, *, before: str) -> None:
    """Puts `text` before the first line that begins with `before`."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if line.startswith(before))
    file.write_text("".join([*lines[:place], text, *lines[place:]]), encoding="utf-8")
