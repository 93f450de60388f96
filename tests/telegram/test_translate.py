"""Messages in our words: text, marks, headers and counts."""

from datetime import UTC, datetime
from typing import Any

import pytest
from telethon.tl import types

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.post import Json, Origin, Post, PostKind, TextEntity
from telegram_assistant.telegram.translation.translate import post_of
from tests.telegram.schema import MOMENT, make_message, make_service

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
LARGE = 2**62 + 1


def translate(message: Any) -> Post:
    post = post_of(ChannelId(7), message)
    assert post is not None
    return post


def facts(**more: Any) -> Json:
    return dict(translate(make_message(**more)).facts)


def test_an_id_that_holds_nothing_is_no_post() -> None:
    assert post_of(ChannelId(7), types.MessageEmpty(5, types.PeerChannel(7))) is None


def test_of_a_plain_post_there_is_nothing_more_to_say() -> None:
    post = translate(make_message(message="Снег", post=True, silent=True))
    assert (post.kind, post.text, post.posted_at, post.facts) == (PostKind.TEXT, "Снег", MOMENT, {})


@pytest.mark.parametrize("entities", [[object()], 7])
def test_a_message_that_cannot_be_understood_is_kept_as_unreadable(entities: Any) -> None:
    post = translate(make_message(message="?", entities=entities))
    assert (post.message_id, post.kind, post.posted_at) == (5, PostKind.UNREADABLE, MOMENT)


@pytest.mark.parametrize(
    ("mark", "entity"),
    [
        (
            types.MessageEntityTextUrl(1, 2, "https://a.example/"),
            TextEntity("text_url", 1, 2, "https://a.example/"),
        ),
        (types.MessageEntityMentionName(1, 2, LARGE), TextEntity("mention_name", 1, 2, detail=LARGE)),
        (types.MessageEntityCustomEmoji(1, 2, LARGE), TextEntity("custom_emoji", 1, 2, detail=LARGE)),
        (types.MessageEntityPre(1, 2, "python"), TextEntity("pre", 1, 2, detail="python")),
        (types.MessageEntityPre(1, 2, ""), TextEntity("pre", 1, 2)),
        (
            types.MessageEntityBlockquote(1, 2, collapsed=True),
            TextEntity("blockquote", 1, 2, detail="collapsed"),
        ),
        (types.MessageEntityBlockquote(1, 2), TextEntity("blockquote", 1, 2)),
        (
            types.MessageEntityFormattedDate(1, 2, NOON),
            TextEntity("formatted_date", 1, 2, detail="2026-11-01T12:00:00+00:00"),
        ),
        (types.MessageEntityDiffReplace(1, 2, "old"), TextEntity("diff_replace", 1, 2, detail="old")),
        (types.MessageEntityUnknown(1, 2), TextEntity("other", 1, 2)),
    ],
)
def test_a_mark_keeps_what_its_kind_says(mark: Any, entity: TextEntity) -> None:
    assert translate(make_message(message="текст", entities=[mark])).entities == (entity,)


def test_what_postgresql_refuses_is_replaced_unit_by_unit() -> None:
    post = translate(
        make_message(message="a\x00b\ud83d", entities=[types.MessageEntityBold(2, 1)], post_author="\x00")
    )
    assert (post.text, post.entities, post.author) == (
        "a\ufffdb\ufffd",
        (TextEntity("bold", 2, 1),),
        "\ufffd",
    )


def test_a_hidden_edit_has_no_date() -> None:
    assert translate(make_message(edit_date=NOON)).edited_at == NOON
    hidden = translate(make_message(edit_date=NOON, edit_hide=True))
    assert (hidden.edited_at, hidden.facts) == (None, {"edit_hide": True, "touched_at": NOON.isoformat()})


def test_a_forward_from_a_channel_names_its_post() -> None:
    header = types.MessageFwdHeader(NOON, from_id=types.PeerChannel(9), channel_post=4, post_author="Ann")
    post = translate(make_message(fwd_from=header))
    assert post.forwarded_from == Origin(ChannelId(9), MessageId(4))
    assert post.facts == {"forward": {"date": "2026-11-01T12:00:00+00:00", "post_author": "Ann"}}


@pytest.mark.parametrize(
    ("header", "details"),
    [
        ({"from_id": types.PeerUser(LARGE)}, {"user_id": LARGE}),
        ({"from_id": types.PeerChat(3), "imported": True}, {"chat_id": 3, "imported": True}),
        ({"from_name": "Deleted\x00"}, {"hidden": True, "from_name": "Deleted\ufffd"}),
    ],
)
def test_a_forward_from_anyone_else_is_a_fact(header: dict[str, Any], details: dict[str, Json]) -> None:
    post = translate(make_message(fwd_from=types.MessageFwdHeader(NOON, **header)))
    assert (post.forwarded_from, post.facts) == (
        None,
        {"forward": {"date": "2026-11-01T12:00:00+00:00", **details}},
    )


def test_a_reply_in_the_same_channel_is_a_link_and_its_quote_a_fact() -> None:
    for peer in (None, types.PeerChannel(7)):
        header = types.MessageReplyHeader(
            reply_to_msg_id=4, reply_to_peer_id=peer, quote=True, quote_text="снег", quote_offset=0
        )
        post = translate(make_message(reply_to=header))
        assert (post.reply_to, post.facts) == (4, {"reply": {"quote_text": "снег", "quote_offset": 0}})


def test_a_reply_to_another_chat_is_only_a_fact() -> None:
    photo = types.MessageMediaPhoto(photo=types.PhotoEmpty(8))
    came_from = types.MessageFwdHeader(NOON, from_id=types.PeerUser(6))
    header = types.MessageReplyHeader(
        reply_to_msg_id=4, reply_to_peer_id=types.PeerChannel(9), reply_from=came_from, reply_media=photo
    )
    post = translate(make_message(reply_to=header))
    reply = {
        "peer": {"channel_id": 9},
        "message_id": 4,
        "from": {"date": NOON.isoformat(), "user_id": 6},
        "media": {"kind": "photo", "id": 8},
    }
    assert (post.reply_to, post.facts) == (None, {"reply": reply})


def test_a_reply_to_a_story_is_only_a_fact() -> None:
    post = translate(make_message(reply_to=types.MessageReplyStoryHeader(types.PeerChannel(7), 3)))
    assert (post.reply_to, post.facts) == (None, {"reply": {"peer": {"channel_id": 7}, "story_id": 3}})


def test_counts_are_kept_as_they_were_read() -> None:
    reactions = [
        types.ReactionCount(types.ReactionEmoji("👍"), 40, chosen_order=1),
        types.ReactionCount(types.ReactionCustomEmoji(LARGE), 3),
        types.ReactionCount(types.ReactionPaid(), 7),
    ]
    replies = types.MessageReplies(2, 2, comments=True, channel_id=77)
    read_facts = facts(
        views=0, forwards=12, replies=replies, reactions=types.MessageReactions(reactions, min=True)
    )
    counts = {"views": 0, "forwards": 12, "replies": 2, "reactions": {"👍": 40, str(LARGE): 3, "paid": 7}}
    assert read_facts == {"counts": counts, "discussion_id": 77}


def test_what_else_stands_around_a_post_is_kept() -> None:
    read_facts = facts(
        from_id=types.PeerUser(6),
        via_bot_id=LARGE,
        pinned=True,
        noforwards=True,
        ttl_period=86400,
        restriction_reason=[types.RestrictionReason("all", "porn", "no")],
        factcheck=types.FactCheck(1, country="DE", text=types.TextWithEntities("wrong", [])),
    )
    assert read_facts == {
        "sender": {"user_id": 6},
        "via_bot_id": LARGE,
        "pinned": True,
        "noforwards": True,
        "ttl_period": 86400,
        "restriction_reason": [{"platform": "all", "reason": "porn", "text": "no"}],
        "factcheck": {"country": "DE", "text": "wrong"},
    }


def test_of_the_buttons_those_that_lead_somewhere_are_kept() -> None:
    buttons = [
        types.KeyboardInlineButton("Читать", types.InlineButtonTypeUrl("https://a.example/\x00")),
        types.KeyboardInlineButton("👍", types.InlineButtonTypeCallback(b"1")),
    ]
    rows = [types.KeyboardInlineButtonRow(buttons)]
    assert facts(reply_markup=types.ReplyInlineMarkup(rows)) == {
        "buttons": [{"text": "Читать", "url": "https://a.example/\ufffd"}]
    }
    assert facts(reply_markup=types.ReplyKeyboardHide()) == {}


def test_an_album_and_a_signature_are_columns() -> None:
    post = translate(make_message(grouped_id=LARGE, post_author="Ann Lee"))
    assert (post.grouped_id, post.author, post.facts) == (LARGE, "Ann Lee", {})


@pytest.mark.parametrize(
    ("action", "details"),
    [
        (types.MessageActionChannelCreate("Снег\x00"), {"action": "channel_create", "title": "Снег\ufffd"}),
        (types.MessageActionChatEditTitle("Новое"), {"action": "chat_edit_title", "title": "Новое"}),
        (
            types.MessageActionChatEditPhoto(types.Photo(LARGE, 1, b"", NOON, [], 2)),
            {"action": "chat_edit_photo", "photo": {"id": LARGE, "dc_id": 2}},
        ),
        (types.MessageActionChatDeletePhoto(), {"action": "chat_delete_photo"}),
        (
            types.MessageActionGroupCall(types.InputGroupCall(LARGE, 5), duration=60),
            {"action": "group_call", "call": {"id": LARGE}, "duration": 60},
        ),
        (
            types.MessageActionGroupCallScheduled(types.InputGroupCall(3, 5), NOON),
            {"action": "group_call_scheduled", "call": {"id": 3}, "schedule_date": NOON.isoformat()},
        ),
        (types.MessageActionSetMessagesTTL(60), {"action": "set_messages_ttl", "period": 60}),
        (types.MessageActionBoostApply(4), {"action": "boost_apply", "boosts": 4}),
        (types.MessageActionChatAddUser([1, 2]), {"action": "chat_add_user", "users": [1, 2]}),
        (
            types.MessageActionSuggestedPostSuccess(types.StarsAmount(5, 0)),
            {"action": "suggested_post_success", "price": {"amount": 5, "nanos": 0}},
        ),
        (
            types.MessageActionSuggestedPostSuccess(types.StarsTonAmount(5)),
            {"action": "suggested_post_success", "price": {"nanotons": 5}},
        ),
    ],
)
def test_a_service_message_says_what_was_done(action: Any, details: dict[str, Json]) -> None:
    post = translate(make_service(action))
    assert (post.kind, post.text, post.facts) == (PostKind.SERVICE, "", {"service": details})


def test_a_pin_says_what_is_pinned() -> None:
    post = translate(
        make_service(types.MessageActionPinMessage(), reply_to=types.MessageReplyHeader(reply_to_msg_id=4))
    )
    assert (post.reply_to, post.facts) == (4, {"service": {"action": "pin_message", "pinned_id": 4}})
