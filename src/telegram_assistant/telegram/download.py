"""Files of messages, piece by piece: where they are now, and their bytes from an offset on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from telethon import errors
from telethon.tl import functions, types

from telegram_assistant.domain.ids import MessageId
from telegram_assistant.domain.posts.history import Readable
from telegram_assistant.errors import AccessLost, AssistantError, Rejected
from telegram_assistant.telegram.account_client import AccountClient
from telegram_assistant.telegram.reader import CLOSED
from telegram_assistant.telegram.translation.files import max_size, size_in_bytes

MAX_MESSAGES = 100
SMALL_PART, LARGE_PART = 512 * 1024, 1024 * 1024
"""Pieces begin at a multiple of their own size, so none crosses a megabyte, which Telegram would refuse."""
LARGE_PARTS_ABOVE = 10 * 1024 * 1024
REFERENCE = "FILE_REFERENCE_"


class ReferenceExpired(AssistantError):
    """The file must be located anew; the bytes that were read stay valid."""


@dataclass(frozen=True, slots=True)
class Located:
    """A file as it can be fetched for some hours: `location` names it to Telegram."""

    media_id: int
    size_bytes: int
    dc_id: int
    location: Any


def part_bytes(size_bytes: int) -> int:
    """How much of a file of this size is asked for at once."""
    return LARGE_PART if size_bytes > LARGE_PARTS_ABOVE else SMALL_PART


async def locate(line: AccountClient, channel: Readable, message_ids: Sequence[MessageId]) -> Mapping[tuple[int, int], Located]:
    """The files of these messages, by message and ordinal, in one request. What is missing has vanished."""
    ids = sorted(set(message_ids))[:MAX_MESSAGES]
    peer = types.InputChannel(channel.channel_id, channel.access_hash)
    try:
        answer = await line.ask(functions.channels.GetMessagesRequest(peer, [types.InputMessageID(one) for one in ids]))
    except CLOSED as error:
        raise AccessLost(f"Telegram does not let this account read the channel ({type(error).__name__.removesuffix('Error')})") from error
    return {
        (message.id, ordinal): found
        for message in answer.messages
        for ordinal, media in enumerate(_shown(getattr(message, "media", None)))
        if (found := _located(media)) is not None
    }


async def read_part(line: AccountClient, file: Located, offset: int) -> bytes:
    """The next piece: shorter than asked for only at the end. It goes straight to the data centre that has the file.

    ReferenceExpired: locate it anew. Rejected: Telegram does not give this file.
    """
    request = functions.upload.GetFileRequest(file.location, offset=offset, limit=part_bytes(file.size_bytes))
    try:
        try:
            answer = await line.ask(request, dc_id=file.dc_id)
        except errors.FileMigrateError as moved:
            answer = await line.ask(request, dc_id=moved.new_dc)
    except errors.RPCError as error:
        if str(error.message or "").startswith(REFERENCE) or type(error).__name__.startswith("FileReference"):
            raise ReferenceExpired("the reference to the file has expired") from error
        raise Rejected(f"Telegram does not give the file ({type(error).__name__.removesuffix('Error')})") from error
    if not isinstance(answer, types.upload.File):
        raise Rejected("Telegram offers the file on servers of others only")
    return bytes(answer.bytes)


def _shown(media: Any) -> list[Any]:  # noqa: ANN401 -- one of Telethon's media
    """In the order of the post's facts: one, or several that were paid for."""
    if isinstance(media, types.MessageMediaPaidMedia):
        return [getattr(one, "media", None) for one in media.extended_media]
    return [media.attached_media if isinstance(media, types.MessageMediaPoll) else media]


def _located(media: Any) -> Located | None:  # noqa: ANN401 -- as above
    photo, document = getattr(media, "photo", None), getattr(media, "document", None)
    if isinstance(media, types.MessageMediaPhoto) and isinstance(photo, types.Photo) and (size := max_size(photo)) is not None:
        place = types.InputPhotoFileLocation(photo.id, photo.access_hash, photo.file_reference, thumb_size=size.type)
        return Located(photo.id, size_in_bytes(size), photo.dc_id, place)
    if isinstance(media, types.MessageMediaDocument) and isinstance(document, types.Document):
        place = types.InputDocumentFileLocation(document.id, document.access_hash, document.file_reference, thumb_size="")
        return Located(document.id, document.size, document.dc_id, place)
    return None
