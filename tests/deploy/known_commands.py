"""The table "Commands you may know" of docs/operations/check-status.md."""

import re
from dataclasses import dataclass

from testkit.checkouts import CHECKOUT

PAGE = (
    (CHECKOUT / "docs/operations/check-status.md")
    .read_text(encoding="utf-8")
    .partition("## Commands you may know")[2]
)
CELL = re.compile(r"(?<!\\)\|")
FETCHES_KEY = re.findall(r"```sh\n(.*?)\n```", PAGE, re.DOTALL)[0]


@dataclass(frozen=True)
class KnownCommand:
    """A row: what is to be seen, and the commands that show it now."""

    to_see: str
    with_containers: str
    without: str


def _command(cell: str) -> str:
    assert re.fullmatch(r"`[^`]+`", cell), f"not one command: {cell}"
    return cell.strip("`").replace("\\|", "|")


def _rows() -> list[KnownCommand]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| to see")]
    cells = [[cell.strip() for cell in CELL.split(line)[1:-1]] for line in lines]
    return [
        KnownCommand(to_see, _command(with_containers), _command(without))
        for to_see, _, with_containers, without in cells
    ]


ROWS = _rows()
