"""Actions of people in their own apps: accept a login, sort chats into folders, share a folder by a link."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from telethon.tl import types

from telegram_simulator.control.operations import NoSuchThing
from telegram_simulator.methods import RpcError
from telegram_simulator.methods.folders import folder_object
from telegram_simulator.methods.login_tokens import accept
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.account import Folder

FIRST_FOLDER = 2
"""Telegram keeps 0 and 1 for itself."""


class OtherApps:
    """Other apps of the same accounts."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._world = simulator.world

    def accept_login(self, phone: str, token: str | None = None) -> None:
        """Scan a QR code with that account: the token as the link has it, or the newest that waits."""
        name = self._newest() if token is None else _decode_token(token)
        try:
            accept(self._simulator, name, self._world.account(phone))
        except RpcError as error:
            raise NoSuchThing(f"login token that could be accepted ({error.message})") from error

    def put_into_folder(
        self,
        phone: str,
        title: str,
        channels: Sequence[int],
        *,
        all_channels: bool = False,
        without: Sequence[int] = (),
        number: int | None = None,
    ) -> int:
        """Make a folder or say anew what is in it; `number` names one whose title changes. Its number."""
        folders = self._world.account(phone).folders
        folder_id = next((key for key, folder in folders.items() if folder.title == title), None)
        folder_number = number or folder_id or max([FIRST_FOLDER - 1, *folders]) + 1
        folders[folder_number] = Folder(title, tuple(channels), all_channels, tuple(without))
        self._announce_folder(phone, folder_number)
        return folder_number

    def drop_folder(self, phone: str, number: int) -> None:
        if self._world.account(phone).folders.pop(number, None) is None:
            raise NoSuchThing(f"folder {number} of {phone}")
        self._announce_folder(phone, number)

    def share_folder(self, slug: str, title: str, channels: Sequence[int]) -> str:
        """A link to a folder, like t.me/addlist/SLUG; without channels the link expires."""
        if channels:
            self._world.shared_folders[slug] = Folder(title, tuple(channels))
        else:
            self._world.shared_folders.pop(slug, None)
        return f"https://t.me/addlist/{slug}"

    def _announce_folder(self, phone: str, number: int) -> None:
        account = self._world.account(phone)
        folder = account.folders.get(number)
        dialog_filter: Any = None if folder is None else folder_object(self._world, account, number, folder)
        self._simulator.push_update(
            types.UpdateDialogFilter(number, dialog_filter), lambda record: record.phone == phone
        )

    def _newest(self) -> bytes:
        waiting_names = [
            name for name, token in self._simulator.login_tokens.items() if token.accepted_by is None
        ]
        if not waiting_names:
            raise NoSuchThing("login token that waits")
        return waiting_names[-1]


def _decode_token(token: str) -> bytes:
    text = token.removeprefix("tg://login?token=")
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError) as error:
        raise NoSuchThing("login token of that form") from error
