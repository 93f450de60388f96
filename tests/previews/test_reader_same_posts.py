"""The same channel by account and by preview gives the same posts, as far as the preview shows them.

The preview does not show these facts; after the colon stands the fact that the test compares instead:

    edited_at      when a post was edited: only that it was
    facts          ids and sizes of files, exact counts, forwards, comments, the meaning of a service message
    forwarded_from the id of the channel it comes from: its name and the number of the post
    grouped_id     the number of an album: the id of its first post
    reply_to       of service messages, of posts that were deleted, and of the later items of an album:
                   that of its first
    kind           of posts that only the app can show
"""

from collections.abc import Collection
from dataclasses import replace

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.posts.history import HistoryReader, Readable
from telegram_assistant.domain.posts.post import Post, PostKind
from telegram_assistant.previews.reader import PreviewReader
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.load import FIRST_CHANNEL
from telegram_simulator.world.post import Entity, FileKind
from telegram_simulator.world.tiny import CITY, TECH
from tests.simulator.conftest import PHONE
from tests.telegram.conftest import Readers

RICH = "Жирно курсив код блок 👍🏽 ссылка @tech_daily #снег $TON a@b.example тайна цитата 😀 конец"


def marks(text: str) -> list[Entity]:
    """One of every mark that a preview shows, each on a word of its own."""
    kinds = {
        "Жирно": ("bold", ""),
        "курсив": ("italic", ""),
        "код": ("code", ""),
        "блок": ("pre", "python"),
        "ссылка": ("text_url", "https://e.example/?a=1&b=2"),
        "@tech_daily": ("mention", ""),
        "#снег": ("hashtag", ""),
        "$TON": ("cashtag", ""),
        "a@b.example": ("email", ""),
        "тайна": ("spoiler", ""),
        "цитата": ("blockquote", "collapsed"),
        "😀": ("custom_emoji", "5368324170671202286"),
    }
    made = []
    for word, (kind, url) in kinds.items():
        before = text[: text.index(word)]
        made.append(
            Entity(kind, len(before.encode("utf-16-le")) // 2, len(word.encode("utf-16-le")) // 2, url)
        )
    return made


async def everything(reader: HistoryReader, channel: Readable) -> dict[MessageId, Post]:
    """All there is, from the newest page downward."""
    page = await reader.newest(channel)
    posts = {post.message_id: post for post in page.posts}
    while page.proven is not None and page.proven.low > 1:
        page = await reader.below(channel, page.proven.low)
        posts |= {post.message_id: post for post in page.posts}
    return posts


def comparable(post: Post, *, first: Post, seen: Post, alive: Collection[MessageId]) -> Post:
    """An account's reading without what no preview shows; `first` is the first post of its album,
    or itself.
    """
    hidden, answered = (
        seen.facts.get("media") == {"kind": "unsupported"},
        None if post.kind is PostKind.SERVICE else first.reply_to,
    )
    return replace(
        post,
        content_hash=b"",
        edited_at=None,
        forwarded_from=None,
        grouped_id=None if post.grouped_id is None else first.message_id,
        reply_to=answered if answered in alive else None,
        kind=PostKind.TEXT if hidden and post.text else post.kind,
        facts={"edited": True} if post.edited_at is not None else {},
    )


def comparable_post(post: Post) -> Post:
    return replace(post, content_hash=b"", facts={"edited": True} if post.facts.get("edited") else {})


@pytest.mark.parametrize("channel_id", [CITY, TECH, *range(FIRST_CHANNEL + 3, FIRST_CHANNEL + 9)])
async def test_the_same_channel_by_account_and_by_preview_gives_the_same_posts(
    readers: Readers, previews: PreviewReader, sim: Simulator, control: Control, channel_id: int
) -> None:
    if channel_id == CITY:
        control.post(CITY, RICH, entities=marks(RICH), author="Анна")
        control.post(
            CITY,
            "https://e.example/снег и e.example\n\nвторая строка <b>",
            entities=[Entity("url", 0, 22), Entity("url", 25, 9)],
        )
        control.album(CITY, [FileKind.PDF, FileKind.MP4], "Бумаги & фильм")
        control.edit(CITY, 33, "Исправлено")
        control.react(CITY, 34, [("👍", 12)])
        control.delete(CITY, [26, 27])
    channel = sim.world.channel(channel_id)
    assert channel is not None
    if channel_id >= FIRST_CHANNEL:  # as much of a large channel as two pages of an account
        control.delete(channel_id, range(1, channel.newest_id - 200))
    access_hash = sim.world.access_hash(sim.world.account(PHONE), channel_id)
    async with readers() as reader:
        by_account = await everything(reader, Readable(ChannelId(channel_id), access_hash))
    by_preview = await everything(previews, Readable(ChannelId(channel_id), username=channel.username))
    assert len(by_account) > 20
    assert by_preview.keys() == by_account.keys()
    albums: dict[int, Post] = {}
    for number, post in sorted(by_account.items()):
        first = post if post.grouped_id is None else albums.setdefault(post.grouped_id, post)
        seen = by_preview[number]
        assert comparable_post(seen) == comparable(post, first=first, seen=seen, alive=by_account.keys())


async def test_what_previews_cannot_see_is_said_in_the_facts(
    readers: Readers, previews: PreviewReader, sim: Simulator
) -> None:
    access_hash = sim.world.access_hash(sim.world.account(PHONE), CITY)
    async with readers() as reader:
        by_account = await everything(reader, Readable(ChannelId(CITY), access_hash))
    by_preview = await everything(previews, Readable(ChannelId(CITY), username="gorod_news"))
    facts = {number: dict(post.facts) for number, post in by_preview.items()}
    assert {post.facts["source"] for post in by_preview.values()} == {"preview"}
    assert facts[MessageId(1)]["service"] == {"shown": "Channel created"}
    assert facts[MessageId(8)]["media"] == {"kind": "photo"}
    assert facts[MessageId(10)]["media"] == {"kind": "document", "file_name": "plan.pdf", "size": "48.8 KB"}
    assert {**facts[MessageId(11)], "counts": {}} == {
        "source": "preview",
        "counts": {},
        "media": {
            "kind": "web_page",
            "url": "https://news.example/most",
            "site_name": "news.example",
            "title": "Мост закрыт",
            "description": "Что известно о ремонте",
        },
    }
    assert facts[MessageId(12)]["poll"] == {
        "question": "Как вы добираетесь?",
        "answers": [{"text": "пешком", "percent": 0}, {"text": "на автобусе", "percent": 0}],
    }
    assert facts[MessageId(15)]["forward"] == {
        "from_name": "Tech Daily",
        "username": "tech_daily",
        "message_id": 5,
    }
    assert facts[MessageId(17)]["media"] == {"kind": "video", "duration_seconds": 1}
    assert facts[MessageId(9)]["counts"] == {"views": 900, "reactions": {"👍": 9, "🔥": 2}}
    assert facts[MessageId(36)]["counts"] == {
        "views": 3600,
        "reactions": {"👍": 36, "🔥": 2},
        "rounded": True,
    }
    assert by_preview[MessageId(8)].content_hash != by_account[MessageId(8)].content_hash
    assert by_preview[MessageId(35)].content_hash != by_account[MessageId(35)].content_hash
