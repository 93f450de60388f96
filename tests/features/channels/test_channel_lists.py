"""Lists of channels in files."""

import pytest

from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Rejected
from telegram_assistant.features.channels.channel_lists import (
    ListedChannel,
    as_opml,
    as_text,
    decode_list,
    read_list,
)
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel


def make_followed(
    number: int, title: str, username: str | None, folder: str | None = None
) -> FollowedChannel:
    return FollowedChannel(
        ChannelId(number),
        title,
        username,
        folder,
        Priority.NORMAL,
        active=True,
        suspended_reason=None,
        newest_message_id=None,
        newest_posted_at=None,
    )


def test_what_is_written_is_read_again() -> None:
    text = as_opml(
        [
            make_followed(1, "Новости <&>", "gorod_news"),
            make_followed(2, "Tech", "tech_daily", "Работа"),
            make_followed(3, "Клуб", None),
        ],
        title="Channels of A",
    )
    assert read_list(text) == (
        ListedChannel("https://t.me/gorod_news"),
        ListedChannel("https://t.me/tech_daily", "Работа"),
    )
    assert 'text="Клуб"' in text


def test_lines_may_carry_remarks_and_blanks() -> None:
    assert read_list("# мои каналы\n@one   # первый\n\nhttps://t.me/two\n") == (
        ListedChannel("@one"),
        ListedChannel("https://t.me/two"),
    )


def test_a_feed_readers_file_is_read_with_its_folders() -> None:
    text = """<opml><body><outline text="News"><outline text="x" xmlUrl="https://t.me/s/chan_a"/>
    <outline text="feed" xmlUrl="https://example.org/rss"/></outline></body></opml>"""
    assert read_list(text) == (ListedChannel("https://t.me/s/chan_a", "News"),)


@pytest.mark.parametrize("depth", [1_200, 100_000])
def test_folders_that_are_nested_too_deep_are_refused(depth: int) -> None:
    with pytest.raises(Rejected, match="nested"):
        read_list(f"<opml><body>{'<outline>' * depth}{'</outline>' * depth}</body></opml>")


def test_a_channel_counts_once_and_too_many_are_refused() -> None:
    assert read_list("@channel\n" * 100_000) == (ListedChannel("@channel"),)
    with pytest.raises(Rejected, match="10000 channels"):
        read_list("\n".join(f"@channel{number}" for number in range(10_001)))


def test_a_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(Rejected, match="characters"):
        read_list("@channel\n" * 1_000_000)


@pytest.mark.parametrize(
    "text", ["", "# only remarks", "<opml><body/></opml>", "<opml", '<!DOCTYPE x [<!ENTITY a "b">]><opml/>']
)
def test_what_names_no_channel_is_refused(text: str) -> None:
    with pytest.raises(Rejected):
        read_list(text)


def test_a_text_list_is_read_again_and_no_title_becomes_a_line() -> None:
    text = as_text(
        [
            make_followed(1, "Новости\n@forged", "gorod_news"),
            make_followed(2, "Tech", "tech_daily", "Работа"),
            make_followed(3, "Клуб", None, "Работа"),
        ]
    )
    assert text == "@gorod_news  # Новости @forged\n\n# Работа\n@tech_daily  # Tech\n# 3  Клуб\n"
    assert read_list(text) == (ListedChannel("@gorod_news"), ListedChannel("@tech_daily"))


@pytest.mark.parametrize(
    "text",
    [
        "channel,folder\n@one,City\nhttps://t.me/two,\n",
        '\ufeffTitle;Link;Папка\r\n"A; B";@one;City\r\nx;https://t.me/two\r\n',
        "канал\tfolder\n@one\tCity\nhttps://t.me/two\t\n",
    ],
)
def test_a_table_is_read_by_its_headings(text: str) -> None:
    assert read_list(text) == (ListedChannel("@one", "City"), ListedChannel("https://t.me/two"))


def test_names_may_stand_on_one_line() -> None:
    assert [entry.reference for entry in read_list("@one, @two;t.me/three\t@four")] == [
        "@one",
        "@two",
        "t.me/three",
        "@four",
    ]


def test_a_file_is_text_in_utf_8_or_in_what_spreadsheets_write() -> None:
    assert decode_list("\ufeff@имя".encode()) == decode_list("@имя".encode("utf-16")) == "@имя"
    with pytest.raises(Rejected, match="UTF-8"):
        decode_list("@имя".encode("cp1251"))
