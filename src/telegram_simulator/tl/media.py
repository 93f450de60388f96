"""Photos, documents, previews and polls as the schema writes them."""

import struct
from collections.abc import Callable

from telethon.tl import types

from telegram_simulator.mtproto.packets import VECTOR, tl_bytes
from telegram_simulator.world.post import Document, File, FileKind, Photo, Poll, Post, Unsupported, WebPage

_photo_head = struct.Struct("<IIIIqq").pack
_photo_mid = struct.Struct("<iIi").pack
_size = struct.Struct("<iii").pack
_int = struct.Struct("<i").pack
_document_head = struct.Struct("<IIIIqq").pack
_document_tail = struct.Struct("<qiIi").pack
_page_head = struct.Struct("<IIIIq").pack
_video = struct.Struct("<IIdii").pack
_image = struct.Struct("<Iii").pack

_MEDIA_PHOTO, _PHOTO = types.MessageMediaPhoto.CONSTRUCTOR_ID, types.Photo.CONSTRUCTOR_ID
_PHOTO_SIZE = struct.pack("<I", types.PhotoSize.CONSTRUCTOR_ID) + tl_bytes(b"x")
_MEDIA_DOCUMENT, _DOCUMENT = types.MessageMediaDocument.CONSTRUCTOR_ID, types.Document.CONSTRUCTOR_ID
_FILE_NAME = struct.pack("<I", types.DocumentAttributeFilename.CONSTRUCTOR_ID)
_VIDEO, _IMAGE = types.DocumentAttributeVideo.CONSTRUCTOR_ID, types.DocumentAttributeImageSize.CONSTRUCTOR_ID
_MEDIA_PAGE, _PAGE = types.MessageMediaWebPage.CONSTRUCTOR_ID, types.WebPage.CONSTRUCTOR_ID
_ARTICLE = tl_bytes(b"article")


def access_hash_of(file: File) -> int:
    return file.file_id ^ 0x5DEECE66D


def media_bytes(post: Post, reference: Callable[[int], bytes]) -> bytes:
    match post.media:
        case Photo(file):
            return _photo_bytes(file, post.date, reference(post.message_id))
        case Document():
            return _document_bytes(post.media, post.date, reference(post.message_id))
        case WebPage():
            return _page_bytes(post.media)
        case Poll():
            return bytes(_poll(post.media, post.message_id))
        case Unsupported() | None:
            return bytes(types.MessageMediaUnsupported())


def _photo_bytes(file: File, date: int, reference: bytes) -> bytes:
    return b"".join(
        (
            _photo_head(_MEDIA_PHOTO, 1, _PHOTO, 0, file.file_id, access_hash_of(file)),
            tl_bytes(reference),
            _photo_mid(date, VECTOR, 1),
            _PHOTO_SIZE,
            _size(file.width, file.height, file.size),
            _int(file.dc_id),
        )
    )


def _document_bytes(media: Document, date: int, reference: bytes) -> bytes:
    file, is_video = media.file, media.file.kind is FileKind.MP4
    attributes = [_FILE_NAME + tl_bytes(media.name.encode())]
    if is_video:
        attributes.append(_video(_VIDEO, 2, file.seconds, file.width, file.height))
    elif file.kind is not FileKind.PDF:
        attributes.append(_image(_IMAGE, file.width, file.height))
    return b"".join(
        (
            _document_head(
                _MEDIA_DOCUMENT,
                1 | (1 << 6 if is_video else 0),
                _DOCUMENT,
                0,
                file.file_id,
                access_hash_of(file),
            ),
            tl_bytes(reference),
            _int(date),
            tl_bytes(file.kind.value.encode()),
            _document_tail(file.size, file.dc_id, VECTOR, len(attributes)),
            *attributes,
        )
    )


def _page_bytes(page: WebPage) -> bytes:
    """With type, site name, title and description: what an article's preview has."""
    url = page.url.encode()
    return b"".join(
        (
            _page_head(_MEDIA_PAGE, 0, _PAGE, 0b1111, int.from_bytes(url[-7:], "little")),
            tl_bytes(url),
            tl_bytes(url.removeprefix(b"https://")),
            _int(0),
            _ARTICLE,
            tl_bytes(url.split(b"/")[2]),
            tl_bytes(page.title.encode()),
            tl_bytes(page.description.encode()),
        )
    )


def _poll(poll: Poll, message_id: int) -> types.MessageMediaPoll:
    answers = [
        types.PollAnswer(text=types.TextWithEntities(answer, []), option=bytes([answer_index]))
        for answer_index, answer in enumerate(poll.answers)
    ]
    question = types.TextWithEntities(poll.question, [])
    return types.MessageMediaPoll(
        poll=types.Poll(id=message_id, question=question, answers=answers, hash=0),
        results=types.PollResults(),
    )
