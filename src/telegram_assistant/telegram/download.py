"""Downloads files of messages part by part: locates them, and reads their bytes from an offset on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from telethon import errors
from telethon.tl import functions, types

from telegram_assistant.domain.ids import MessageId
from telegram_assistant.domain.posts.history import Readable
from telegram_assistant.errors import AccessLost, AssistantError, Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.telegram.account_client import AccountClient
from telegram_assistant.telegram.reader import CLOSED
from telegram_assistant.telegram.translation.files import max_size, size_in_bytes

MAX_MESSAGES = 100
SMALL_PART, LARGE_PART = 512 * 1024, 1024 * 1024
"""Parts begin at a multiple of their own size, so none crosses a megabyte, which Telegram would refuse."""
LARGE_PARTS_ABOVE = 10 * 1024 * 1024
REFERENCE = "FILE_REFERENCE_"


class ReferenceExpired(AssistantError):
    """The file must be located again. Bytes that were read stay valid."""


@dataclass(frozen=True, slots=True)
class LocatedFile:
    """A file that can be downloaded for some hours. `location` identifies it to Telegram."""

    media_id: int
    size_bytes: int
    dc_id: int
    location: Any


def part_bytes(size_bytes: int) -> int:
    """Return how many bytes of a file of this size are requested at once."""
    return LARGE_PART if size_bytes > LARGE_PARTS_ABOVE else SMALL_PART


async def locate(
    client: AccountClient, channel: Readable, message_ids: Sequence[MessageId]
) -> Mapping[tuple[int, int], LocatedFile]:
    """Locate the files of these messages, by message and ordinal, in one request.

    A missing entry means that the file is gone.
    """
    ids = sorted(set(message_ids))[:MAX_MESSAGES]
    peer = types.InputChannel(channel.channel_id, channel.access_hash)
    try:
        answer = await client.ask(
            functions.channels.GetMessagesRequest(
                peer, [types.InputMessageID(message_id) for message_id in ids]
            )
        )
    except CLOSED as error:
        raise AccessLost(
            Reason(
                "channel_access_lost",
                "Telegram does not let this account read the channel ({error})",
                error=type(error).__name__.removesuffix("Error"),
            )
        ) from error
    return {
        (message.id, ordinal): located_file
        for message in answer.messages
        for ordinal, media in enumerate(_media_items(getattr(message, "media", None)))
        if (located_file := _locate_file(media)) is not None
    }


async def read_part(client: AccountClient, file: LocatedFile, offset: int) -> bytes:
    """Read the next part: shorter than requested only at the end. Goes straight to the data centre that has
    the file.

    ReferenceExpired: locate it again. Rejected: Telegram does not give this file.
    """
    request = functions.upload.GetFileRequest(file.location, offset=offset, limit=part_bytes(file.size_bytes))
    try:
        try:
            answer = await client.ask(request, dc_id=file.dc_id)
        except errors.FileMigrateError as moved:
            answer = await client.ask(request, dc_id=moved.new_dc)
    except errors.RPCError as error:
        if str(error.message or "").startswith(REFERENCE) or type(error).__name__.startswith("FileReference"):
            raise ReferenceExpired("the reference to the file has expired") from error
        raise Rejected(
            Reason(
                "file_not_given",
                "Telegram refuses the file ({error})",
                error=type(error).__name__.removesuffix("Error"),
            )
        ) from error
    if not isinstance(answer, types.upload.File):
        raise Rejected(Reason("file_on_cdn", "Telegram offers the file on a CDN only"))
    return bytes(answer.bytes)


def _media_items(media: Any) -> list[Any]:
    """List the media in the order of the post's facts: one, or several paid ones."""
    if isinstance(media, types.MessageMediaPaidMedia):
        return [getattr(extended_file, "media", None) for extended_file in media.extended_media]
    return [media.attached_media if isinstance(media, types.MessageMediaPoll) else media]


def _locate_file(media: Any) -> LocatedFile | None:
    photo, document = getattr(media, "photo", None), getattr(media, "document", None)
    if (
        isinstance(media, types.MessageMediaPhoto)
        and isinstance(photo, types.Photo)
        and (size_bytes := max_size(photo)) is not None
    ):
        location = types.InputPhotoFileLocation(
            photo.id, photo.access_hash, photo.file_reference, thumb_size=size_bytes.type
        )
        return LocatedFile(photo.id, size_in_bytes(size_bytes), photo.dc_id, location)
    if isinstance(media, types.MessageMediaDocument) and isinstance(document, types.Document):
        location = types.InputDocumentFileLocation(
            document.id, document.access_hash, document.file_reference, thumb_size=""
        )
        return LocatedFile(document.id, document.size, document.dc_id, location)
    return None
