"""Writes tables as CSV that programs read and spreadsheets open without running anything."""

import csv
import io
from collections.abc import Iterable, Sequence

FORMULA_MARKS = frozenset("=+-@|%\t\r\n＝＋－＠")
"""Spreadsheets take a cell that begins with one of them for a formula or a command."""
BYTE_ORDER_MARK = "\ufeff"
"""Without it, spreadsheets do not recognise UTF-8."""

type Cell = str | int | float | None


def write_csv(names: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """A table with its column names in the first row. Texts that could run begin with an apostrophe."""
    out = io.StringIO(newline="")
    out.write(BYTE_ORDER_MARK)
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow(names)
    writer.writerows([defuse_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def defuse_cell(cell: Cell) -> str:
    """The cell as text that no spreadsheet runs; numbers stay as they are."""
    if cell is None:
        return ""
    text = str(cell)
    if isinstance(cell, str) and (text[:1] in FORMULA_MARKS or text.lstrip()[:1] in FORMULA_MARKS) and text:
        return f"'{text}"
    return text
