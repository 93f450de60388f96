"""What people write to name a channel."""

import pytest

from telegram_assistant.domain.channel import Reference, parse_reference
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
    assert parse_reference(written) == Reference("gorod_news", is_invite=False)


@pytest.mark.parametrize("written", ["https://t.me/+AbCdEf_123-xyz", "t.me/joinchat/AbCdEf_123-xyz", "+AbCdEf_123-xyz"])
def test_an_invitation_is_told_from_a_name(written: str) -> None:
    assert parse_reference(written) == Reference("AbCdEf_123-xyz", is_invite=True)


@pytest.mark.parametrize("written", ["", "@", "имя", "a b", "https://example.org/x", "t.me/c/123/4", "t.me/addlist/xyz", "t.me/+!", "@1abc"])
def test_nonsense_is_refused_in_words(written: str) -> None:
    with pytest.raises(Rejected, match="names no channel"):
        parse_reference(written)
