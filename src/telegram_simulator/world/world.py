"""The whole world: channels by id, name and invite, accounts by phone, and what time it is there."""

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from telegram_simulator.world.account import Account, Folder
from telegram_simulator.world.article import Press
from telegram_simulator.world.chance import number64
from telegram_simulator.world.channel import Channel
from telegram_simulator.world.load import FIRST_CHANNEL, LoadPast
from telegram_simulator.world.post import File

HOME_DC = 2
LAUNCH = 1_376_438_400
"""When the first channels of this kind of world were made: before every post."""
REFERENCE = struct.Struct("<Iqi")


@dataclass(frozen=True, slots=True)
class Many:
    """Channels that are made when somebody looks at them."""

    seed: int
    count: int
    posts: int
    now: int

    def past(self, index: int) -> LoadPast:
        return LoadPast(
            self.seed, index, count=self.posts, now=self.now, channels=self.count, home_dc=HOME_DC
        )

    def make(self, channel_id: int) -> Channel | None:
        index = channel_id - FIRST_CHANNEL
        if not 0 <= index < self.count:
            return None
        title, username = f"Load {index}", f"load_{index}"
        channel = Channel(
            channel_id,
            title=title,
            username=username,
            created=LAUNCH,
            past=self.past(index),
            past_count=self.posts,
        )
        channel.members = 50 + index * 7919 % 90_000
        return channel

    def find_channel_id(self, username: str) -> int | None:
        prefix, _, number = username.partition("_")
        return (
            FIRST_CHANNEL + int(number)
            if prefix == "load" and number.isdecimal() and int(number) < self.count
            else None
        )

    def ids(self) -> range:
        return range(FIRST_CHANNEL, FIRST_CHANNEL + self.count)


class World:
    """One world. Its clock may stand still, so that the same seed gives the same bytes."""

    def __init__(
        self,
        *,
        seed: int,
        clock: Callable[[], float],
        many: Many | None = None,
        channels: Iterable[Channel] = (),
        stories: Callable[[], Iterator[dict[str, Any]]] = lambda: iter(()),
        press: Press | None = None,
    ) -> None:
        self.stories = stories
        """The true stories of the world; a world without stories has none."""
        self.press = press or Press()
        self.seed = seed
        self.clock = clock
        self.accounts: dict[str, Account] = {}
        self.reference_epoch = 1
        """File references of an older epoch have expired."""
        self._lazy_channels = many
        self._channels: dict[int, Channel] = {}
        self._names: dict[str, int] = {}
        self._invites: dict[str, int] = {}
        self.shared_folders: dict[str, Folder] = {}
        """Behind the links by which people share a folder, by the last part of the link."""
        for channel in channels:
            self.add_channel(channel)

    def now(self) -> int:
        return int(self.clock())

    # --- channels ---

    def channel(self, channel_id: int) -> Channel | None:
        channel = self._channels.get(channel_id)
        if channel is None and self._lazy_channels is not None:
            channel = self._lazy_channels.make(channel_id)
            if channel is not None:
                self._channels[channel_id] = channel
        return channel

    def channel_ids(self) -> Iterable[int]:
        made_ids = self._lazy_channels.ids() if self._lazy_channels is not None else range(0)
        return [*made_ids, *(channel_id for channel_id in self._channels if channel_id not in made_ids)]

    def find_by_username(self, username: str) -> Channel | None:
        folded_name = username.lower()
        channel_id = self._names.get(folded_name)
        if channel_id is None and self._lazy_channels is not None:
            channel_id = self._lazy_channels.find_channel_id(folded_name)
        channel = self.channel(channel_id) if channel_id is not None else None
        return channel if channel is not None and (channel.username or "").lower() == folded_name else None

    def find_by_invite(self, invite: str) -> Channel | None:
        channel_id = self._invites.get(invite)
        return None if channel_id is None else self.channel(channel_id)

    def add_channel(self, channel: Channel) -> None:
        self._channels[channel.channel_id] = channel
        self.rename(channel, channel.username)
        if channel.invite:
            self._invites[channel.invite] = channel.channel_id

    def rename(self, channel: Channel, username: str | None) -> None:
        """Without a name a channel is private."""
        channel.username = username
        if username:
            self._names[username.lower()] = channel.channel_id

    # --- accounts ---

    def account(self, phone: str) -> Account:
        """The account of that phone; it is created on first use."""
        if phone not in self.accounts:
            user_id = abs(number64(self.seed, "user", phone)) % 10**10 + 1
            self.accounts[phone] = Account(phone, user_id, name=f"Reader {phone[-4:]}", home_dc=HOME_DC)
        return self.accounts[phone]

    def bot(self, number: int, token: str) -> Account:
        """The bot of that number; it is created on first use, with that token."""
        name = f"bot {number}"
        if name not in self.accounts:
            self.accounts[name] = Account(
                name, number, name=f"Bot {number}", home_dc=HOME_DC, bot_token=token
            )
        return self.accounts[name]

    def access_hash(self, account: Account, channel_id: int) -> int:
        """The access hash of the channel for one account only."""
        return number64(self.seed, "access", account.user_id, channel_id)

    # --- files ---

    def file_reference(self, channel_id: int, message_id: int) -> bytes:
        """Names the message that a file was seen in; good until references expire."""
        return REFERENCE.pack(self.reference_epoch, channel_id, message_id)

    def read_reference(self, reference: bytes) -> tuple[int, int, int]:
        """Epoch, channel and message; epoch 0 when it is no reference of ours."""
        if len(reference) != REFERENCE.size:
            return 0, 0, 0
        epoch, channel_id, message_id = REFERENCE.unpack(reference)
        return epoch, channel_id, message_id

    def file_of(self, channel_id: int, message_id: int) -> File | None:
        channel = self.channel(channel_id)
        post = channel.get(message_id) if channel else None
        file = getattr(post.media, "file", None) if post else None
        return file if isinstance(file, File) else None
