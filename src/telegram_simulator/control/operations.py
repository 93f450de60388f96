"""Operations on the world and on the server.

The control API and tests in the same process both call this.
"""

import base64
import random
import struct
from collections.abc import Sequence
from typing import Any

from telethon.tl import types

from telegram_simulator.faults import Failure
from telegram_simulator.floods import Rule
from telegram_simulator.simulator import Simulator
from telegram_simulator.tl.messages import Raw
from telegram_simulator.tl.objects import channel_object, message, moment_of
from telegram_simulator.world.account import TROUBLES
from telegram_simulator.world.chance import number64
from telegram_simulator.world.channel import Change, Channel, Listed
from telegram_simulator.world.post import Document, Entity, File, FileKind, Media, Origin, Photo, Post
from telegram_simulator.world.world import HOME_DC


class NoSuchThing(LookupError):
    """The world has no such channel, post or account."""


class Control:
    """The hand from outside."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._world = simulator.world

    # --- posts ---

    def post(
        self,
        channel_id: int,
        text: str = "",
        *,
        media: FileKind | None = None,
        size: int = 60_000,
        dc_id: int = HOME_DC,
        origin: tuple[int, int] | None = None,
        name: str | None = None,
        same_file: tuple[int, int] | None = None,
        reply_to: int | None = None,
        entities: Sequence[Entity] = (),
        author: str | None = None,
        deliver: bool = True,
    ) -> Post:
        """Publish now. With deliver=False nobody is told: a gap for those who rely on updates.

        `same_file` is the post whose file it shows, as forwarded posts do; `name` is what the sender calls
        the file.
        """
        channel, now = self._channel(channel_id), self._world.now()
        new_post = channel.add(
            lambda message_id: Post(
                message_id=message_id,
                date=now,
                text=text,
                entities=tuple(entities),
                media=self._media_of_post(same_file)
                if same_file
                else self._media(channel_id, message_id, media, size, dc_id, name),
                origin=None if origin is None else Origin(*origin, now),
                reply_to=reply_to,
                author=author,
                views=1,
                forwards=0,
            )
        )
        self._push_new(channel, [new_post], deliver=deliver)
        return new_post

    def album(
        self, channel_id: int, kinds: Sequence[FileKind], caption: str = "", *, deliver: bool = True
    ) -> list[Post]:
        """Several messages with consecutive ids and one group; the caption is on the first."""
        channel, now = self._channel(channel_id), self._world.now()
        group = number64("album", channel_id, channel.newest_id, now) & (2**62 - 1)
        posts = [
            self._album_item(channel, now, group, kind, caption if kind_index == 0 else "")
            for kind_index, kind in enumerate(kinds)
        ]
        self._push_new(channel, posts, deliver=deliver)
        return posts

    def _album_item(self, channel: Channel, now: int, group: int, kind: FileKind, caption: str) -> Post:
        return channel.add(
            lambda message_id: Post(
                message_id=message_id,
                date=now,
                text=caption,
                media=self._media(channel.channel_id, message_id, kind, 60_000, HOME_DC),
                grouped_id=group,
                views=1,
                forwards=0,
            )
        )

    def edit(self, channel_id: int, message_id: int, text: str | None, *, deliver: bool = True) -> Post:
        """Without a text, the new one follows from the post: what its world had planned."""
        return self._change(channel_id, message_id, Change(self._world.now(), text), deliver=deliver)

    def react(
        self, channel_id: int, message_id: int, reactions: Sequence[tuple[str, int]], *, deliver: bool = True
    ) -> Post:
        """Looks like an edit to a client, and is none."""
        post = self._channel(channel_id).get(message_id)
        if post is None:
            raise NoSuchThing(f"post {channel_id}/{message_id}")
        change = Change(self._world.now(), post.text, hidden=True, reactions=tuple(reactions))
        return self._change(channel_id, message_id, change, deliver=deliver)

    def view(self, channel_id: int, message_id: int, views: int) -> None:
        """A counter moves: no edit, no event of the log, and an update that may come or not."""
        channel = self._channel(channel_id)
        channel.set_views(message_id, views)
        self._simulator.forget_ready(channel_id, message_id)
        update = types.UpdateChannelMessageViews(channel_id, message_id, views)
        self._simulator.push(channel, lambda phone: self._updates([update], channel, phone))

    def delete(self, channel_id: int, message_ids: Sequence[int], *, deliver: bool = True) -> list[int]:
        channel = self._channel(channel_id)
        deleted_ids = channel.delete(message_ids, self._world.now())
        for message_id in deleted_ids:
            self._simulator.forget_ready(channel_id, message_id)
        if deleted_ids and deliver:
            update = types.UpdateDeleteChannelMessages(channel_id, deleted_ids, channel.pts, len(deleted_ids))
            self._simulator.push(channel, lambda phone: self._updates([update], channel, phone))
        return deleted_ids

    def _change(self, channel_id: int, message_id: int, change: Change, *, deliver: bool) -> Post:
        channel = self._channel(channel_id)
        changed_post = channel.edit(message_id, change)
        if changed_post is None:
            raise NoSuchThing(f"post {channel_id}/{message_id}")
        self._simulator.forget_ready(channel_id, message_id)
        if deliver:
            update = types.UpdateEditChannelMessage(self._raw(channel, changed_post), channel.pts, 1)
            self._simulator.push(channel, lambda phone: self._updates([update], channel, phone))
        return changed_post

    def _push_new(self, channel: Channel, posts: Sequence[Post], *, deliver: bool) -> None:
        if deliver:
            first_pts = channel.pts - len(posts)
            updates = [
                types.UpdateNewChannelMessage(self._raw(channel, post), first_pts + number, 1)
                for number, post in enumerate(posts, 1)
            ]
            self._simulator.push(channel, lambda phone: self._updates(updates, channel, phone))

    def publish_foretold(self, channel: Channel, number: int) -> Post:
        """The next post of a channel that lives by its rhythm."""
        post = channel.foretold(number)
        self._push_new(channel, [post], deliver=True)
        return post

    def _updates(self, updates: list[Any], channel: Channel, phone: str) -> types.Updates:
        chat = channel_object(self._world, self._world.account(phone), channel)
        return types.Updates(updates, [], [chat], moment_of(self._simulator.now()), 0)

    def _raw(self, channel: Channel, post: Post) -> Raw:
        return message(self._world, channel, post)

    def _media_of_post(self, post: tuple[int, int]) -> Media | None:
        stored_post = self._channel(post[0]).get(post[1])
        if stored_post is None:
            raise NoSuchThing(f"post {post[0]}/{post[1]}")
        return stored_post.media

    def _media(
        self,
        channel_id: int,
        message_id: int,
        kind: FileKind | None,
        size: int,
        dc_id: int,
        name: str | None = None,
    ) -> Media | None:
        if kind is None:
            return None
        file = File(number64("made", channel_id, message_id) & (2**62 - 1), kind, size, dc_id)
        return (
            Photo(file)
            if kind is FileKind.JPEG
            else Document(file, name or f"file_{message_id}.{kind.partition('/')[2]}")
        )

    # --- channels and accounts ---

    def add_channel(
        self, title: str, username: str | None = None, *, invite: str | None = None, group: bool = False
    ) -> Channel:
        now = self._world.now()
        channel_id = (
            1_700_000_000 + abs(number64("channel", title, username or "", invite or "")) % 100_000_000
        )
        channel = Channel(
            channel_id, title=title, username=username, created=now, past=Listed(()), past_count=0
        )
        channel.invite, channel.is_group = invite, group
        self._world.add_channel(channel)
        return channel

    def change_channel(
        self,
        channel_id: int,
        *,
        title: str | None = None,
        username: str | None = None,
        private: bool | None = None,
        protected: bool | None = None,
        preview: bool | None = None,
        ban: str | None = None,
        unban: str | None = None,
    ) -> None:
        channel = self._channel(channel_id)
        if title is not None:
            channel.title = title
        if username is not None or private:
            self._world.rename(channel, None if private else username)
        if protected is not None:
            channel.protected = protected
        if preview is not None:
            channel.has_preview = preview
        if ban is not None:
            channel.banned.add(ban)
        if unban is not None:
            channel.banned.discard(unban)
        self._simulator.forget_ready()

    def account(
        self,
        phone: str,
        *,
        premium: bool | None = None,
        state: str | None = None,
        joined: Sequence[int] | None = None,
        password: str | None = None,
        home_dc: int | None = None,
    ) -> dict[str, Any]:
        """Make or change an account.

        States: ok, frozen, banned, revoked, unregistered. A password is asked for after the code.
        """
        account = self._world.account(phone)
        if password is not None:
            account.password = password or None
        if home_dc is not None:
            account.home_dc = home_dc
        if premium is not None:
            account.premium = premium
        if state is not None:
            account.trouble = TROUBLES[state]
        if joined is not None:
            account.joined = set(joined)
        return {
            "phone": phone,
            "user_id": account.user_id,
            "premium": account.premium,
            "joined": sorted(account.joined),
        }

    def session_string(self, phone: str) -> str:
        """A login in Telethon's own form: no handshake, no code."""
        key, dc_id = self._simulator.new_login(phone), self._world.account(phone).home_dc
        address = bytes(int(part) for part in self._simulator.host.split("."))
        packed_bytes = struct.pack(">B4sH256s", dc_id, address, self._simulator.ports[dc_id], key)
        return "1" + base64.urlsafe_b64encode(packed_bytes).decode()

    def churn(self, *, edits: int, deletions: int, seed: int = 1) -> int:
        """Many edits and deletions at once, spread over the world, told to nobody; how many took effect."""
        rng, channel_ids, now, effective_count = (
            random.Random(seed),
            list(self._world.channel_ids()),
            self._world.now(),
            0,
        )
        for number in range(edits + deletions):
            channel = self._channel(rng.choice(channel_ids))
            if channel.newest_id < 2:
                continue
            message_id = rng.randint(2, channel.newest_id)
            if number < edits:
                effective_count += channel.rewrite(message_id, now)
            else:
                effective_count += len(channel.delete([message_id], now))
        self._simulator.forget_ready()
        return effective_count

    # --- trouble ---

    def fail(
        self,
        method: str,
        *,
        times: int = 1,
        code: int,
        message: str,
        phone: str | None = None,
        after: int = 0,
    ) -> None:
        """The next calls of a method fail, or those after the next so many."""
        self._simulator.faults.failures.append(Failure(method, times, code, message, phone, after))

    def set_limit(self, method: str, rules: Sequence[tuple[int, float, int]]) -> None:
        """Rules as (calls, seconds, wait); none lets everything through."""
        waits_for_all = method != "upload.getFile"
        self._simulator.floods.rules[method] = tuple(
            Rule(call_count, seconds, wait, premium_waits=waits_for_all)
            for call_count, seconds, wait in rules
        )

    def forgive(self) -> None:
        """Forget all waits."""
        self._simulator.floods.forget()

    def expire_references(self) -> None:
        self._world.reference_epoch += 1
        self._simulator.forget_ready()

    def revoke_keys(self, phone: str, *, error: tuple[int, str] = (401, "SESSION_REVOKED")) -> int:
        records = list(self._simulator.keys.records_of(phone))
        for record in records:
            record.dead = error
        return len(records)

    def forget_keys(self, phone: str) -> int:
        """The server loses the keys: clients get a transport error."""
        records = list(self._simulator.keys.records_of(phone))
        for record in records:
            self._simulator.keys.forget(record)
        return len(records)

    def rotate_salt(self) -> None:
        self._simulator.salt = number64("salt", self._simulator.salt)

    def skew_clock(self, seconds: float) -> None:
        self._simulator.faults.clock_skew_seconds = seconds
        for record in self._simulator.keys:
            for session in record.sessions.values():
                session.forget_time()

    def trim_differences(self, channel_id: int, keep: int) -> None:
        self._channel(channel_id).trim_log(keep)

    def _channel(self, channel_id: int) -> Channel:
        channel = self._world.channel(channel_id)
        if channel is None:
            raise NoSuchThing(f"channel {channel_id}")
        return channel
