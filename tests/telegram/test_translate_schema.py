"""Every message that the schema allows, with any content, becomes a post that can be stored."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telethon.tl import types

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.post import Post, PostKind
from telegram_assistant.stores.postgres.posts.landing import Claim, Landed
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telegram.translation.raw_messages import pack_messages, unpack_messages
from telegram_assistant.telegram.translation.translate import post_of
from testkit.factories import make_channel, make_page
from tests.telegram.schema import Maker, kinds_of, make_message, make_service

ACTIONS, MARKS, MEDIA = kinds_of("MessageAction"), kinds_of("MessageEntity"), kinds_of("MessageMedia")
HOSTILE = ("", "\x00", "\ud83d", "a\udc00\x00b", "🔥 текст", "'; DROP TABLE posts; --", "\u202e\ufeff")
NO_NUMBERS = (float("nan"), float("inf"), float("-inf"), -12.25)


def of_every_kind(maker: Maker) -> Iterator[Any]:
    """One message for each kind of media, action and mark."""
    yield from (make_message(media=maker.make(kind), message=maker.strings[-1]) for kind in MEDIA)
    yield from (make_service(maker.make(kind)) for kind in ACTIONS)
    yield from (make_message(entities=[maker.make(kind)], message=maker.strings[-1]) for kind in MARKS)


def translate(message: Any, channel_id: int = 7) -> Post:
    post = post_of(ChannelId(channel_id), message)
    assert post is not None
    return post


def storable(post: Post) -> bool:
    """PostgreSQL's text and jsonb take UTF-8 without NUL, and only finite numbers."""
    words = [
        post.text,
        post.author or "",
        json.dumps([entity.as_json() for entity in post.entities], ensure_ascii=False),
    ]
    words.append(json.dumps(post.facts, ensure_ascii=False, allow_nan=False))
    return all(b"\x00" not in word.encode() and "\\u0000" not in word for word in words)


@given(chance=st.randoms(use_true_random=False))
def test_any_message_is_read_and_can_be_stored(chance: Random) -> None:
    message = Maker(chance, HOSTILE, NO_NUMBERS).message()
    post = translate(message)
    assert (post.kind is PostKind.UNREADABLE) == isinstance(message.media, types.MessageMediaUnsupported)
    assert storable(post)


@given(chance=st.randoms(use_true_random=False), action=st.sampled_from(ACTIONS))
def test_any_service_message_is_read_and_can_be_stored(chance: Random, action: type) -> None:
    post = translate(make_service(Maker(chance, HOSTILE, NO_NUMBERS).make(action)))
    assert post.kind is PostKind.SERVICE
    assert storable(post)


async def test_any_content_lands_and_is_read_back_as_it_was(system: SystemStores) -> None:
    channel_id = await make_channel(system)
    maker = Maker(Random(1), HOSTILE, NO_NUMBERS, everything=True)
    messages = [*of_every_kind(maker), *(maker.message() for _ in range(50))]
    for number, message in enumerate(messages, 1):
        message.id = number
    posts = {message.id: translate(message, channel_id) for message in messages}
    assert await system.landing.land(make_page(*posts.values()), Claim(channel_id, 0)) == Landed(
        inserted=len(posts), changed=0
    )
    stored = await system.posts.load([PostId(channel_id, number) for number in posts])
    assert {row.post.message_id: row.post for row in stored} == posts


def test_every_fact_and_every_kind_of_media_is_documented() -> None:
    maker = Maker(Random(1), ("текст",), everything=True)
    all_facts = [
        translate(message).facts
        for message in [*of_every_kind(maker), *(maker.message(message="") for _ in range(20))]
    ]
    keys = {key for facts in all_facts for key in facts}
    kinds = {media["kind"] for facts in all_facts if isinstance(media := facts.get("media"), dict)}
    text = (Path(__file__).parents[2] / "docs/facts.md").read_text(encoding="utf-8")
    assert len(keys) == 18
    assert [name for name in (*keys, *kinds) if f"`{name}`" not in text] == []


def test_every_mark_of_the_layer_has_a_name() -> None:
    maker = Maker(Random(1), ("текст",))
    named = {kind: translate(make_message(entities=[maker.make(kind)])).entities[0].kind for kind in MARKS}
    assert [kind for kind, name in named.items() if name == "other"] == [types.MessageEntityUnknown]
    assert len(set(named.values())) == len(MARKS)


def test_nothing_that_opens_a_file_or_a_call_becomes_a_fact() -> None:
    maker = Maker(Random(1), ("текст",), everything=True)
    written = " ".join(
        json.dumps(translate(message).facts) for _ in range(20) for message in of_every_kind(maker)
    )
    assert not [
        word
        for word in ("access_hash", "file_reference", "provider_charge_id", "slug", "vcard")
        if f'"{word}"' in written
    ]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_packed_is_translated_as_before(seed: int) -> None:
    for message in of_every_kind(Maker(Random(seed), ("", "текст", "a\x00"), everything=True)):
        assert [translate(message) for message in unpack_messages(pack_messages([message, message]))] == [
            translate(message)
        ] * 2
