"""Files of a search: a row for each post, and no text that a spreadsheet would run."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest

from telegram_assistant.documents.tables import BYTE_ORDER_MARK
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.search.snippets import Snippet
from telegram_assistant.features.search.exports import ExportedSearch, SearchFileFormat, write_file
from telegram_assistant.features.search.results import SearchResult


def make_result(text: str, channel: str = "City") -> SearchResult:
    return SearchResult(
        post_id=PostId(ChannelId(7), MessageId(1)),
        posted_at=datetime(2026, 11, 15, 8, tzinfo=UTC),
        channel=channel,
        link="https://t.me/city/1",
        text=text,
        snippet=Snippet(text, ()),
        lang="en",
        kind=None,
        tags=("a", "b"),
        copies=(),
        by_words=True,
        by_meaning=False,
        by_names=False,
        is_edited=True,
    )


def read_rows(exported: ExportedSearch) -> list[dict[str, str]]:
    text = write_file(exported, SearchFileFormat.CSV, UTC).removeprefix(BYTE_ORDER_MARK)
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("text", ["=1+1", "+7 900", "-5 tonight", "@cmd", "\t=1", '=HYPERLINK("https://x")'])
def test_no_cell_begins_as_a_formula(text: str) -> None:
    (row,) = read_rows(ExportedSearch("snow", (make_result(text, channel=text),), is_complete=True))
    assert (row["text"], row["channel"]) == (f"'{text}", f"'{text}")


def test_a_row_has_what_a_desk_cites() -> None:
    (row,) = read_rows(ExportedSearch("snow", (make_result('Snow, "much"\nof it'),), is_complete=True))
    assert (row["text"], row["link"], row["posted_at"]) == (
        'Snow, "much"\nof it',
        "https://t.me/city/1",
        "2026-11-15T08:00:00+00:00",
    )
    assert (row["tags"], row["is_edited"], row["deleted_at"]) == ("a, b", "yes", "")


def test_json_says_whether_there_are_more_posts() -> None:
    content = json.loads(
        write_file(
            ExportedSearch("snow", (make_result("=1"),), is_complete=False), SearchFileFormat.JSON, UTC
        )
    )
    assert (content["query"], content["is_complete"], content["posts"][0]["text"]) == ("snow", False, "=1")
