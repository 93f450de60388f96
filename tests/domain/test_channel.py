"""What people write to name a channel."""

import pytest

from telegram_assistant.domain.channel import Reference, ReferenceKind, parse_reference
from telegram_assistant.errors import Rejected


@pytest.mark.parametrize(
    "written",
    [
        "@gorod_news",
        "gorod_news",
        "t.me/gorod_news",
        "https://t.me/gorod_news",
        "http://telegram.me/gorod_news/",
        "https://t.me/s/gorod_news",
        "https://t.me/gorod_news/123?single",
        " @gorod_news ",
    ],
)
def test_a_public_name_is_read_in_every_spelling(written: str) -> None:
    assert parse_reference(written) == Reference("gorod_news", ReferenceKind.NAME)


@pytest.mark.parametrize("written", ["https://t.me/+AbCdEf_123-xyz", "t.me/joinchat/AbCdEf_123-xyz", "+AbCdEf_123-xyz"])
def test_an_invitation_is_told_from_a_name(written: str) -> None:
    assert parse_reference(written) == Reference("AbCdEf_123-xyz", ReferenceKind.INVITE)


@pytest.mark.parametrize("written", ["https://t.me/addlist/AbCdEf_123-xyz", "t.me/addlist/AbCdEf_123-xyz/"])
def test_a_link_to_a_folder_is_told_from_a_channel_and_not_printed_in_full(written: str) -> None:
    reference = parse_reference(written)
    assert reference == Reference("AbCdEf_123-xyz", ReferenceKind.LIST)
    assert reference.shown == "https://t.me/addlist/AbCd…"


@pytest.mark.parametrize("written", ["", "@", "имя", "a b", "https://example.org/x", "t.me/c/123/4", "t.me/addlist/xyz", "t.me/+!", "@1abc"])
def test_nonsense_is_refused_in_words(written: str) -> None:
    with pytest.raises(Rejected, match="names no channel"):
        parse_reference(written)
