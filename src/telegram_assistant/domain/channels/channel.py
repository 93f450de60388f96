"""A channel as Telegram describes it, and the references by which people name it."""

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import parse_qs

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """The identity of a channel. Channels belong to no tenant."""

    channel_id: ChannelId
    title: str
    username: str | None = None
    kind: str = "channel"
    is_private: bool = False
    protected: bool = False


@dataclass(frozen=True, slots=True)
class FoundChannel:
    """A channel as one account sees it: the access hash is valid for this account only."""

    channel: Channel
    access_hash: int
    joined: bool


class ReferenceKind(StrEnum):
    """How a reference names channels."""

    NAME = "name"
    INVITE = "invite"
    """The secret part of an invitation link."""
    LIST = "list"
    """The secret part of a link to a shared folder."""


ADDRESSES = {
    ReferenceKind.NAME: "@",
    ReferenceKind.INVITE: "https://t.me/+",
    ReferenceKind.LIST: "https://t.me/addlist/",
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A person's reference to one or several channels."""

    name: str
    kind: ReferenceKind

    def __str__(self) -> str:
        return ADDRESSES[self.kind] + self.name

    @property
    def display_text(self) -> str:
        """The reference for display.

        Invitations and folder links give access to channels, so they are shortened.
        """
        return str(self) if self.kind is ReferenceKind.NAME else f"{ADDRESSES[self.kind]}{self.name[:4]}…"


LINK = re.compile(
    r"^(?:https?://)?(?:www\.)?(?:t\.me|telegram\.me|telegram\.dog)/(?:s/)?(?P<path>[^?#]+)", re.IGNORECASE
)
USERNAME = re.compile(r"^[A-Za-z][A-Za-z0-9_]{3,31}$")
INVITE = re.compile(r"^(?!\d+$)[A-Za-z0-9_-]{5,64}$")
"""Digits alone are excluded as a phone number: t.me/+79990000000 opens a chat with a person."""
APP_LINK = re.compile(r"^tg:(?://)?(?P<action>[a-z]+)/?\?(?P<query>.*)$", re.IGNORECASE)
APP_LINKS = {"resolve": ("domain", ""), "join": ("invite", "+"), "addlist": ("slug", "addlist/")}
"""Links that open the Telegram app, like tg://join?invite=…: the parameter that names the channel,
and its prefix on t.me.
"""


def parse_reference(text: str) -> Reference:
    """Parses `@name`, `name`, t.me links (name, name/123, +secret, joinchat/secret,
    addlist/secret) and tg:// links, or raises Rejected.
    """
    reference_text = text.strip()
    path = _path_of(reference_text).strip("/")
    secret = path.removeprefix("joinchat/").removeprefix("+") if path.startswith(("joinchat/", "+")) else None
    if secret is not None and INVITE.match(secret):
        return Reference(secret, ReferenceKind.INVITE)
    if path.startswith("addlist/") and INVITE.match(path.removeprefix("addlist/")):
        return Reference(path.removeprefix("addlist/"), ReferenceKind.LIST)
    name = path.split("/")[0]
    if USERNAME.match(name) and name.lower() not in {"joinchat", "addlist", "c"}:
        return Reference(name, ReferenceKind.NAME)
    raise Rejected(
        Reason(
            "reference_invalid",
            "{written!r} is not a channel; write @name, https://t.me/name or an invitation like "
            "https://t.me/+AbCdEf",
            written=reference_text[:80],
        )
    )


def _path_of(reference_text: str) -> str:
    """The path of the equivalent t.me link, for every spelling."""
    if link := LINK.match(reference_text):
        return str(link["path"])
    if app := APP_LINK.match(reference_text):
        parameter, prefix = APP_LINKS.get(app["action"].lower(), ("", ""))
        return f"{prefix}{parse_qs(app['query']).get(parameter, [''])[0]}"
    return reference_text.removeprefix("@")
