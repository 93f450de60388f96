"""The fast writers produce the same bytes as Telethon's own writer."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from telethon.extensions import BinaryReader
from telethon.tl import types

from telegram_simulator.tl.media import access_hash_of
from telegram_simulator.tl.messages import message_bytes
from telegram_simulator.tl.objects import channel_object, moment_of
from telegram_simulator.world.channel import Channel, Listed
from telegram_simulator.world.post import (
    Document,
    Entity,
    File,
    FileKind,
    Media,
    Origin,
    Photo,
    Poll,
    Post,
    Service,
    Unsupported,
    WebPage,
)
from telegram_simulator.world.world import World

ids = st.integers(1, 2**31 - 1)
dates = st.integers(1, 2**31 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=600)
files = st.builds(
    File,
    st.integers(1, 2**62),
    st.sampled_from(FileKind),
    st.integers(1, 2**31 - 1),
    st.sampled_from([2, 4]),
    st.just(320),
    st.just(200),
)
pages = st.builds(
    WebPage, st.integers(1, 999).map(lambda number: f"https://news.example/{number}"), texts, texts
)
media = (
    st.none()
    | st.builds(Photo, files)
    | st.builds(Document, files, texts)
    | pages
    | st.builds(Unsupported)
    | st.builds(Poll, texts, st.tuples(texts, texts))
)
simple = (
    "bold",
    "italic",
    "underline",
    "strike",
    "spoiler",
    "code",
    "url",
    "hashtag",
    "cashtag",
    "mention",
    "email",
)
entities = st.builds(
    Entity, st.sampled_from([*simple, "text_url", "pre", "blockquote"]), ids, ids, texts
) | st.builds(Entity, st.just("custom_emoji"), ids, ids, ids.map(str))
posts = st.builds(
    Post,
    message_id=ids,
    date=dates,
    text=texts,
    entities=st.lists(entities, max_size=3).map(tuple),
    media=media,
    service=st.none() | st.sampled_from(Service),
    origin=st.none() | st.builds(Origin, st.integers(1, 2**40), ids, dates),
    reply_to=st.none() | ids,
    grouped_id=st.none() | st.integers(1, 2**62),
    author=st.none() | texts,
    views=st.integers(0, 2**31 - 1),
    forwards=st.integers(0, 2**31 - 1),
    comments=st.none() | st.integers(0, 1000),
    reactions=st.lists(st.tuples(st.sampled_from(["👍", "❤️"]), st.integers(0, 10**6)), max_size=3).map(tuple),
    edit_date=st.none() | dates,
    edit_hidden=st.booleans(),
)


@given(post=posts, protected=st.booleans())
def test_a_message_is_what_telethon_would_write(post: Post, protected: bool) -> None:
    reference = b"reference"
    written = message_bytes(
        post, channel_id=77, group_id=88, is_protected=protected, reference=lambda _id: reference
    )
    assert written == bytes(expected_message(post, protected=protected, reference=reference))
    assert BinaryReader(written).tgread_object().id == post.message_id


def expected_message(post: Post, *, protected: bool, reference: bytes) -> Any:
    reply = None if post.reply_to is None else types.MessageReplyHeader(reply_to_msg_id=post.reply_to)
    if post.service is not None:
        actions = {
            Service.PINNED: types.MessageActionPinMessage(),
            Service.TITLE: types.MessageActionChatEditTitle(post.text or "…"),
            Service.CREATED: types.MessageActionChannelCreate(post.text or "…"),
        }
        action = actions[post.service]
        return types.MessageService(
            id=post.message_id,
            peer_id=types.PeerChannel(77),
            date=moment_of(post.date),
            action=action,
            post=True,
            reply_to=reply,
        )
    origin = post.origin
    forward = (
        None
        if origin is None
        else types.MessageFwdHeader(
            moment_of(origin.date),
            from_id=types.PeerChannel(origin.channel_id),
            channel_post=origin.message_id,
        )
    )
    replies = (
        None
        if post.comments is None
        else types.MessageReplies(post.comments, post.comments, comments=True, channel_id=88)
    )
    counts = [types.ReactionCount(types.ReactionEmoji(emoji), count) for emoji, count in post.reactions]
    return types.Message(
        id=post.message_id,
        peer_id=types.PeerChannel(77),
        date=moment_of(post.date),
        message=post.text,
        post=True,
        noforwards=protected or None,
        fwd_from=forward,
        reply_to=reply,
        media=expected_media(post.media, post, reference),
        entities=[expected_entity(entity) for entity in post.entities] or None,
        views=post.views,
        forwards=post.forwards,
        replies=replies,
        edit_date=None if post.edit_date is None else moment_of(post.edit_date),
        edit_hide=(post.edit_date is not None and post.edit_hidden) or None,
        post_author=post.author,
        grouped_id=post.grouped_id,
        reactions=types.MessageReactions(counts, min=True) if counts else None,
    )


def expected_entity(entity: Entity) -> Any:
    if entity.kind == "text_url":
        return types.MessageEntityTextUrl(entity.offset, entity.length, entity.url)
    if entity.kind == "pre":
        return types.MessageEntityPre(entity.offset, entity.length, entity.url)
    if entity.kind == "blockquote":
        return types.MessageEntityBlockquote(entity.offset, entity.length, collapsed=bool(entity.url))
    if entity.kind == "custom_emoji":
        return types.MessageEntityCustomEmoji(entity.offset, entity.length, int(entity.url))
    return getattr(types, f"MessageEntity{entity.kind.capitalize()}")(entity.offset, entity.length)


def expected_media(attached: Media | None, post: Post, reference: bytes) -> Any:
    match attached:
        case None:
            return None
        case Photo(file):
            size = types.PhotoSize("x", file.width, file.height, file.size)
            return types.MessageMediaPhoto(
                photo=types.Photo(
                    file.file_id, access_hash_of(file), reference, moment_of(post.date), [size], file.dc_id
                )
            )
        case Document(file, name):
            attributes: list[Any] = [types.DocumentAttributeFilename(name)]
            if file.kind is FileKind.MP4:
                attributes.append(
                    types.DocumentAttributeVideo(
                        file.seconds, file.width, file.height, supports_streaming=True
                    )
                )
            elif file.kind is not FileKind.PDF:
                attributes.append(types.DocumentAttributeImageSize(file.width, file.height))
            document = types.Document(
                file.file_id,
                access_hash_of(file),
                reference,
                moment_of(post.date),
                file.kind.value,
                file.size,
                file.dc_id,
                attributes,
            )
            return types.MessageMediaDocument(document=document, video=file.kind is FileKind.MP4 or None)
        case WebPage(url, title, description):
            number = int.from_bytes(url.encode()[-7:], "little")
            shown_url = url.removeprefix("https://")
            page = types.WebPage(
                number,
                url,
                shown_url,
                0,
                type="article",
                site_name="news.example",
                title=title,
                description=description,
            )
            return types.MessageMediaWebPage(webpage=page)
        case Poll(question, answers):
            choices = [
                types.PollAnswer(types.TextWithEntities(answer, []), bytes([number]))
                for number, answer in enumerate(answers)
            ]
            poll = types.Poll(post.message_id, types.TextWithEntities(question, []), choices, 0)
            return types.MessageMediaPoll(poll=poll, results=types.PollResults())
        case Unsupported():
            return types.MessageMediaUnsupported()


@given(
    title=texts,
    username=st.none() | st.just("some_name"),
    protected=st.booleans(),
    joined=st.booleans(),
    members=st.integers(0, 10**6),
)
def test_a_channel_is_what_telethon_would_write(
    title: str, username: str | None, protected: bool, joined: bool, members: int
) -> None:
    world = World(seed=1, clock=lambda: 5.0)
    account = world.account("1")
    channel = Channel(77, title=title, username=username, created=1000, past=Listed(()), past_count=0)
    channel.protected, channel.members = protected, members
    if joined:
        account.joined.add(77)
    access_hash = world.access_hash(account, 77)
    if username is None and not joined:
        seen: Any = types.ChannelForbidden(77, access_hash, title, broadcast=True)
    else:
        seen = types.Channel(
            id=77,
            title=title,
            photo=types.ChatPhotoEmpty(),
            date=moment_of(1000),
            broadcast=True,
            left=not joined or None,
            noforwards=protected or None,
            access_hash=access_hash,
            username=username,
            participants_count=members,
            has_link=True,
        )
    assert bytes(channel_object(world, account, channel)) == bytes(seen)
