"""Names and links by which people refer to a channel."""

import pytest

from telegram_assistant.domain.channels.channel import Reference, ReferenceKind, parse_reference
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
        "tg://resolve?domain=gorod_news",
        "tg:resolve?domain=gorod_news&post=12",
    ],
)
def test_a_public_name_is_read_in_every_spelling(written: str) -> None:
    assert parse_reference(written) == Reference("gorod_news", ReferenceKind.NAME)


@pytest.mark.parametrize(
    "written",
    [
        "https://t.me/+AbCdEf_123-xyz",
        "t.me/joinchat/AbCdEf_123-xyz",
        "+AbCdEf_123-xyz",
        "tg://join?invite=AbCdEf_123-xyz",
    ],
)
def test_an_invitation_is_told_from_a_name(written: str) -> None:
    assert parse_reference(written) == Reference("AbCdEf_123-xyz", ReferenceKind.INVITE)


@pytest.mark.parametrize(
    "written",
    [
        "https://t.me/addlist/AbCdEf_123-xyz",
        "t.me/addlist/AbCdEf_123-xyz/",
        "tg://addlist?slug=AbCdEf_123-xyz",
    ],
)
def test_a_link_to_a_folder_is_told_from_a_channel_and_not_printed_in_full(written: str) -> None:
    reference = parse_reference(written)
    assert reference == Reference("AbCdEf_123-xyz", ReferenceKind.LIST)
    assert reference.display_text == "https://t.me/addlist/AbCd…"


@pytest.mark.parametrize("written", ["https://t.me/+AbCdEf", "https://t.me/addlist/AbCdEf"])
def test_the_examples_of_our_own_texts_are_understood(written: str) -> None:
    assert str(parse_reference(written)) == written


NONSENSE = [
    "",
    "@",
    "имя",
    "a b",
    "https://example.org/x",
    "t.me/c/123/4",
    "t.me/addlist/xyz",
    "t.me/+!",
    "t.me/+79990000001",
    "@1abc",
]
OF_THE_APP = [
    "tg://",
    "tg://resolve",
    "tg://resolve?domain=",
    "tg://resolve?phone=79990000001",
    "tg://settings?domain=gorod_news",
    "tg://[",
]


@pytest.mark.parametrize("written", [*NONSENSE, *OF_THE_APP])
def test_nonsense_is_refused_in_words(written: str) -> None:
    with pytest.raises(Rejected, match="is not a channel"):
        parse_reference(written)
