"""The world `load`: any number of channels with any number of posts each, all of it computed when asked."""

from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from telegram_simulator.world.chance import Lot
from telegram_simulator.world.channel import Edited
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
    WebPage,
)
from telegram_simulator.world.rhythm import Rhythm, busy_at, moments_at, rhythm_of
from telegram_simulator.world.words import SENTENCES, sentences

FIRST_CHANNEL = 1_000_000_000
BLOCK = 8
SECOND_DC = 4
EMOJI = ("👍", "❤️", "🔥", "😁", "😢", "🤔")
REACTIONS_SEEN = tuple(
    tuple((EMOJI[(number + place) % 6], number * 7 % 90 + place) for place in range(1 + number % 3))
    for number in range(256)
)
FAVOURITES = 5
"""Channels that one channel forwards from."""

ALL = 2**32
ALBUMS = int(0.11 * ALL)
"""Of blocks of eight posts: with 2 to 8 items each, about 7 % of posts stand in albums."""
PINS, FORWARDS, COMMENTS, REACTIONS = int(0.005 * ALL), int(0.15 * ALL), int(0.5 * ALL), int(0.7 * ALL)
PHOTOS, VIDEOS, PAPERS, PAGES, POLLS = (
    int(0.40 * ALL),
    int(0.46 * ALL),
    int(0.48 * ALL),
    int(0.63 * ALL),
    int(0.64 * ALL),
)
ELSEWHERE = int(0.2 * ALL)

_POST, _TEXT, _BLOCK = range(3)


class Block(NamedTuple):
    """Eight posts in a row: when each was made, and how many of the first ones are an album."""

    moments: tuple[int, ...]
    album: int


class LoadPast:
    """One channel's posts, from its first to any in the future. `count` of them are before `now`."""

    def __init__(self, seed: int, index: int, *, count: int, now: int, channels: int, home_dc: int) -> None:
        self.index = index
        self._seed = seed
        self._count = count
        self._now = now
        self._channels = channels
        self._home_dc = home_dc
        self._lot = Lot(seed, "load", index)
        self._russian = index % 4 != 3
        self._sentences = sentences("ru" if self._russian else "en")
        self._blocks: dict[int, Block] = {}

    @cached_property
    def rhythm(self) -> Rhythm:
        """Its habits; a channel with very many posts is fast enough not to be older than ten years."""
        drawn_rhythm = rhythm_of(self._seed, self.index)
        return replace(drawn_rhythm, per_day=max(drawn_rhythm.per_day, self._count / 3650))

    @cached_property
    def _busy_now(self) -> float:
        return busy_at(self.rhythm, self._now)

    def date(self, number: int) -> int:
        """Irregular within blocks of eight posts, never out of order,
        never after `now` for what was before it.
        """
        block, index_in_block = divmod(number - self._count, BLOCK)
        return self._block(block).moments[index_in_block]

    def _block(self, block: int) -> Block:
        """Eight posts are drawn together: their moments, and whether the first of them are an album."""
        cached_block = self._blocks.get(block)
        if cached_block is not None:
            return cached_block
        numbers = self._lot.sixteen(_BLOCK, block)
        busy, hours = self._busy_now, BLOCK * 24 / self.rhythm.per_day
        drawn = moments_at(
            self.rhythm, [busy + (block + number / ALL) * hours for number in sorted(numbers[:BLOCK])]
        )
        moments = [min(moment, self._now) if block < 0 else max(moment, self._now + 1) for moment in drawn]
        begins_history = block * BLOCK + self._count <= 0
        album = 2 + numbers[9] % (BLOCK - 1) if numbers[8] < ALBUMS and not begins_history else 0
        moments[:album] = moments[:1] * album
        if (
            len(self._blocks) >= 4
        ):  # pages are read in order: the last few blocks are all that is asked for again
            self._blocks.pop(next(iter(self._blocks)))
        new_block = self._blocks[block] = Block(tuple(moments), album)
        return new_block

    def edit(self, number: int, version: int) -> Edited:
        return self._text(self._lot.sixteen(_TEXT, number, version)), None

    def about(self, _number: int) -> dict[str, Any]:
        return {}

    def _text(self, numbers: tuple[int, ...]) -> str:
        invented_sentences = self._sentences
        return " ".join(
            [invented_sentences[number % SENTENCES] for number in numbers[7 : 10 + numbers[6] % 5]]
        )

    def post(self, number: int, message_id: int) -> Post:
        if number == 0:
            return Post(message_id=message_id, date=self.date(0), service=Service.CREATED)
        numbers = self._lot.sixteen(_POST, number)
        kind, origin, media, counts, reaction_count, comment_count = numbers[:6]
        block_number, index_in_block = divmod(number - self._count, BLOCK)
        block = self._block(block_number)
        date, in_album = block.moments[index_in_block], index_in_block < block.album
        if kind < PINS and not in_album:
            return Post(
                message_id=message_id, date=date, service=Service.PINNED, reply_to=max(message_id - 1, 1)
            )
        text = self._text(numbers) if not in_album or index_in_block == 0 else ""
        return Post(
            message_id=message_id,
            date=date,
            text=text,
            entities=(Entity("bold", 0, text.find(".") + 1),) if text else (),
            media=self._media(number, numbers, PHOTOS - 1 if in_album else media),
            origin=self._origin(origin, date) if origin < FORWARDS else None,
            reply_to=message_id - 1 if kind % 20 == 0 else None,
            grouped_id=_id_of(self.index, number - index_in_block, 1) if in_album else None,
            views=counts % 50_000 + 10,
            forwards=counts % 300,
            comments=comment_count % 90 if comment_count < COMMENTS else None,
            reactions=REACTIONS_SEEN[reaction_count % len(REACTIONS_SEEN)]
            if reaction_count < REACTIONS
            else (),
        )

    def _media(self, number: int, numbers: tuple[int, ...], chance: int) -> Media | None:
        if chance < PHOTOS:
            return Photo(self._file(number, numbers, FileKind.JPEG))
        if chance < VIDEOS:
            return Document(self._file(number, numbers, FileKind.MP4), f"video_{number}.mp4")
        if chance < PAPERS:
            return Document(self._file(number, numbers, FileKind.PDF), f"paper_{number}.pdf")
        invented_sentences = self._sentences
        if chance < PAGES:
            return WebPage(
                f"https://news.example/{self.index}/{number}",
                invented_sentences[chance % 500],
                invented_sentences[chance % 700],
            )
        if chance < POLLS:
            return Poll(invented_sentences[chance % 300], ("да", "нет") if self._russian else ("yes", "no"))
        return None

    def _file(self, number: int, numbers: tuple[int, ...], kind: FileKind) -> File:
        dc_id = SECOND_DC if numbers[15] < ELSEWHERE else self._home_dc
        return File(_id_of(self.index, number, 2), kind, 20_000 + numbers[14] % 180_000, dc_id)

    def _origin(self, number: int, date: int) -> Origin:
        favourite = (self.index * 7 + number % FAVOURITES * 31 + 1) % self._channels
        return Origin(FIRST_CHANNEL + favourite, 1 + number % 900, date - 600 - number % 86_400)


def _id_of(index: int, number: int, kind: int) -> int:
    """A large number that looks like Telegram's ids, and is different for every file and album."""
    return ((index << 26 | number) * 4 + kind) * 0x9E3779B97F4A7C15 & (2**62 - 1)
