"""The simulator's worlds, as an account reads them: posts arrive as posted, and can be kept as they came."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from telethon.extensions import BinaryReader

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.history import Readable
from telegram_assistant.domain.posts.post import Facts, Json, Origin, Post, PostKind, TextEntity, fingerprint
from telegram_assistant.stores.postgres.posts.raw_messages import RawMessages
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telegram.translation.raw_messages import LAYER, pack_messages, unpack_messages
from telegram_assistant.telegram.translation.translate import post_of
from telegram_simulator.simulator import Simulator
from telegram_simulator.tl.messages import message_bytes
from telegram_simulator.world import post as theirs
from telegram_simulator.world.channel import Channel
from telegram_simulator.world.load import FIRST_CHANNEL
from telegram_simulator.world.tiny import CITY, CLUB, TECH, tiny_channels
from telegram_simulator.world.world import Many
from testkit.factories import make_channel
from tests.telegram.conftest import Readers


def moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def expected_post(channel: Channel, post: theirs.Post) -> Post:
    """The post that the translation of a simulator's post must give."""
    if post.service is not None:
        return expected_service(channel, post)
    kind, media, ids = expected_media(post)
    entities = tuple(
        TextEntity(entity.kind, entity.offset, entity.length, entity.url or None) for entity in post.entities
    )
    counts: Facts = {"views": post.views, "forwards": post.forwards}
    facts: Facts = {**media, "counts": counts}
    if post.comments is not None:
        counts["replies"], facts["discussion_id"] = post.comments, channel.group_id
    if post.reactions:
        counts["reactions"] = dict(post.reactions)
    if channel.protected:
        facts["noforwards"] = True
    if post.origin is not None:
        facts["forward"] = {"date": moment(post.origin.date).isoformat()}
    return Post(
        channel_id=ChannelId(channel.channel_id),
        message_id=MessageId(post.message_id),
        posted_at=moment(post.date),
        content_hash=fingerprint(post.text, entities, ids),
        kind=kind,
        text=post.text,
        entities=entities,
        reply_to=None if post.reply_to is None else MessageId(post.reply_to),
        forwarded_from=None
        if post.origin is None
        else Origin(ChannelId(post.origin.channel_id), MessageId(post.origin.message_id)),
        grouped_id=post.grouped_id,
        author=post.author,
        facts=facts,
    )


def expected_service(channel: Channel, post: theirs.Post) -> Post:
    services: dict[theirs.Service | None, Json] = {
        theirs.Service.CREATED: {"action": "channel_create", "title": "…"},
        theirs.Service.PINNED: {"action": "pin_message", "pinned_id": post.reply_to},
    }
    return Post(
        channel_id=ChannelId(channel.channel_id),
        message_id=MessageId(post.message_id),
        posted_at=moment(post.date),
        content_hash=fingerprint(""),
        kind=PostKind.SERVICE,
        reply_to=None if post.reply_to is None else MessageId(post.reply_to),
        facts={"service": services[post.service]},
    )


def expected_media(post: theirs.Post) -> tuple[PostKind, Facts, list[int]]:
    match post.media:
        case theirs.Photo(file):
            return (
                PostKind.PHOTO,
                {"media": {"kind": "photo", **of_file(file), "width": 320, "height": 200}},
                [file.file_id],
            )
        case theirs.Document(file, name):
            kind = PostKind.VIDEO if file.kind is theirs.FileKind.MP4 else PostKind.DOCUMENT
            media: Facts = {
                "kind": kind.value,
                **of_file(file),
                "mime_type": file.kind.value,
                "file_name": name,
            }
            if file.kind is not theirs.FileKind.PDF:
                media |= {"width": 320, "height": 200}
            if kind is PostKind.VIDEO:
                media["duration_seconds"] = 1.0
            return kind, {"media": media}, [file.file_id]
        case theirs.WebPage(url, title, description):
            page = {
                "url": url,
                "type": "article",
                "site_name": "news.example",
                "title": title,
                "description": description,
            }
            return PostKind.TEXT, {"media": {"kind": "web_page", **page}}, []
        case theirs.Poll(question, answers):
            poll: Facts = {
                "id": post.message_id,
                "question": question,
                "answers": [{"text": answer} for answer in answers],
            }
            return PostKind.POLL, {"poll": poll}, [post.message_id]
        case theirs.Unsupported():
            return PostKind.UNREADABLE, {"media": {"kind": "unsupported"}}, []
        case None:
            return PostKind.TEXT, {}, []


def of_file(file: theirs.File) -> Facts:
    return {"id": file.file_id, "dc_id": file.dc_id, "size_bytes": file.size}


def posts_of(channel: Channel, upto: int) -> list[theirs.Post]:
    return [post for number in range(1, upto + 1) if (post := channel.get(number)) is not None]


async def test_what_the_client_reads_is_exactly_what_was_posted(readers: Readers, sim: Simulator) -> None:
    async with readers() as reader:
        channels, _ = await reader.load_joined()
        for joined in channels:
            channel = sim.world.channel(joined.channel.channel_id)
            assert channel is not None
            read = await reader.newest(Readable(joined.channel.channel_id, joined.access_hash))
            assert list(reversed(read.posts)) == [
                expected_post(channel, post) for post in posts_of(channel, 100)
            ]


def messages_of(channel: Channel, upto: int) -> Iterator[tuple[theirs.Post, Any]]:
    for post in posts_of(channel, upto):
        written = message_bytes(
            post,
            channel_id=channel.channel_id,
            group_id=channel.group_id,
            is_protected=channel.protected,
            reference=lambda _: b"reference",
        )
        yield post, BinaryReader(written).tgread_object()


def test_every_message_of_the_worlds_is_translated_exactly_and_again_after_it_was_packed() -> None:
    many = Many(1, 10, 5000, 1_790_000_000).make(FIRST_CHANNEL + 3)
    assert many is not None
    channels = [*tiny_channels(1_790_000_000), many]
    assert {channel.channel_id for channel in channels} >= {CITY, TECH, CLUB}
    for channel in channels:
        made = list(messages_of(channel, 500))
        read = [post_of(ChannelId(channel.channel_id), message) for _, message in made]
        assert read == [expected_post(channel, post) for post, _ in made]
        assert [
            post_of(ChannelId(channel.channel_id), message)
            for message in unpack_messages(pack_messages(message for _, message in made))
        ] == read


async def test_messages_are_kept_packed_and_repaired_from_what_was_kept(
    system: SystemStores, now: datetime
) -> None:
    channel_id = await make_channel(system)
    messages = [message for _, message in messages_of(tiny_channels(1_790_000_000)[0], 8)]
    ids = sorted(MessageId(message.id) for message in messages)
    await system.raw_archive.keep(
        [RawMessages(channel_id, ids[0], ids[-1], now, LAYER, pack_messages(messages))]
    )
    (archived,) = await system.raw_archive.around(PostId(channel_id, ids[3]))
    assert [post_of(channel_id, message) for message in unpack_messages(archived.body)] == [
        post_of(channel_id, message) for message in messages
    ]
    assert await system.raw_archive.around(PostId(channel_id, MessageId(ids[-1] + 1))) == ()
