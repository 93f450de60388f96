"""Tables open in spreadsheets, and run nothing there."""

import csv
import io

import pytest

from telegram_assistant.documents.tables import defuse_cell, write_csv


@pytest.mark.parametrize(
    "formula",
    [
        '=HYPERLINK("http://evil.example")',
        "+1",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "  =1",
        "\r\n=1",
        "＝1",
        "|cmd",
        "\n",
    ],
)
def test_a_text_that_a_spreadsheet_would_run_begins_with_an_apostrophe(formula: str) -> None:
    assert defuse_cell(formula) == f"'{formula}"


@pytest.mark.parametrize(
    ("cell", "written"), [("мост", "мост"), (-3, "-3"), (None, ""), ("", ""), ("a=b", "a=b")]
)
def test_everything_else_stays_as_it_is(cell: str | int | None, written: str) -> None:
    assert defuse_cell(cell) == written


def test_rows_with_quotes_and_lines_are_read_back() -> None:
    written = write_csv(("number", "text"), [(1, 'he said "no"\nand left'), (2, "б,в;г")])
    assert written.startswith("\ufeff")
    assert list(csv.reader(io.StringIO(written.removeprefix("\ufeff"), newline=""))) == [
        ["number", "text"],
        ["1", 'he said "no"\nand left'],
        ["2", "б,в;г"],
    ]
