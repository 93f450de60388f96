"""Messages in our words, where the simulator has no example."""

from datetime import UTC, datetime
from typing import Any

import pytest
from telethon.tl import types

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.post import PostKind
from telegram_assistant.telegram.translate import post_of

MOMENT = datetime(2026, 11, 1, tzinfo=UTC)


def message(**more: Any) -> types.Message:
    return types.Message(id=5, peer_id=types.PeerChannel(7), date=MOMENT, **{"message": "", **more})


def test_an_id_that_holds_nothing_is_no_post() -> None:
    assert post_of(ChannelId(7), types.MessageEmpty(5, types.PeerChannel(7))) is None


def test_media_without_an_id_are_read_too() -> None:
    picture = types.WebDocument("https://a.example/x.png", 1, 2, "image/png", [])
    invoice = types.MessageMediaInvoice("a thing", "of value", "USD", 100, "start", photo=picture)
    post = post_of(ChannelId(7), message(message="Купите", media=invoice))
    assert post is not None
    assert (post.kind, post.text) == (PostKind.OTHER, "Купите")


@pytest.mark.parametrize("entities", [[object()], 7])
def test_a_message_that_cannot_be_understood_is_kept_as_unreadable(entities: Any) -> None:
    post = post_of(ChannelId(7), message(message="?", entities=entities))
    assert post is not None
    assert (post.message_id, post.kind, post.posted_at) == (5, PostKind.UNREADABLE, MOMENT)
