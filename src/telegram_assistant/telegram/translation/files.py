"""Translates photos and documents into facts: what they are and how large, not how to download them."""

import math
from collections.abc import Callable
from typing import Any

from telethon.tl import types

from telegram_assistant.domain.posts.post import Facts
from telegram_assistant.domain.posts.text import storable


def photo_facts(photo: types.TypePhoto) -> Facts:
    """Return the facts of a photo, with the dimensions of its largest size."""
    facts: Facts = {"id": photo.id}
    if type(photo) is not types.Photo:
        return facts
    facts["dc_id"] = photo.dc_id
    largest = max_size(photo)
    if largest is not None:
        facts["width"], facts["height"], facts["size_bytes"] = largest.w, largest.h, size_in_bytes(largest)
    return facts


def max_size(photo: types.Photo) -> Any | None:
    """Return the largest size of the photo: the one that is kept."""
    largest, area = None, -1
    for size in photo.sizes:
        if type(size) in _BYTES and size.w * size.h > area:
            largest, area = size, size.w * size.h
    return largest


def size_in_bytes(size: Any) -> int:
    return _BYTES[type(size)](size)


_BYTES: dict[type, Callable[[Any], int]] = {
    types.PhotoSize: lambda size: int(size.size),
    types.PhotoSizeProgressive: lambda size: max(size.sizes, default=0),
    types.PhotoCachedSize: lambda size: len(size.bytes),
}


def document_facts(document: types.TypeDocument) -> Facts:
    """Return the facts of a document.

    `kind` is the narrowest that its attributes allow: a round video is `round`, not `video`.
    """
    if type(document) is not types.Document:
        return {"kind": "document", "id": document.id}
    facts: Facts = {
        "kind": "document",
        "id": document.id,
        "dc_id": document.dc_id,
        "size_bytes": document.size,
    }
    if document.mime_type:
        facts["mime_type"] = storable(document.mime_type)
    is_animated = False
    for attribute in document.attributes:
        add_facts = _ATTRIBUTES.get(type(attribute))
        if add_facts is not None:
            add_facts(facts, attribute)
        elif type(attribute) is types.DocumentAttributeAnimated:
            is_animated = True
    if is_animated and facts["kind"] in {"document", "video"}:
        facts["kind"] = "animation"
    return facts


def _file_name(facts: Facts, attribute: types.DocumentAttributeFilename) -> None:
    facts["file_name"] = storable(attribute.file_name)


def _image(facts: Facts, attribute: types.DocumentAttributeImageSize) -> None:
    facts["width"], facts["height"] = attribute.w, attribute.h


def _video(facts: Facts, attribute: types.DocumentAttributeVideo) -> None:
    facts["width"], facts["height"] = attribute.w, attribute.h
    if math.isfinite(attribute.duration):
        facts["duration_seconds"] = attribute.duration
    if facts["kind"] != "sticker":
        facts["kind"] = "round" if attribute.round_message else "video"


def _audio(facts: Facts, attribute: types.DocumentAttributeAudio) -> None:
    facts["kind"] = "voice" if attribute.voice else "audio"
    facts["duration_seconds"] = attribute.duration
    if attribute.title:
        facts["title"] = storable(attribute.title)
    if attribute.performer:
        facts["performer"] = storable(attribute.performer)


def _sticker(facts: Facts, attribute: types.DocumentAttributeSticker) -> None:
    facts["kind"] = "sticker"
    if attribute.alt:
        facts["emoji"] = storable(attribute.alt)
    if type(attribute.stickerset) is types.InputStickerSetID:
        facts["sticker_set_id"] = attribute.stickerset.id


_ATTRIBUTES: dict[type, Callable[[Facts, Any], None]] = {
    types.DocumentAttributeFilename: _file_name,
    types.DocumentAttributeImageSize: _image,
    types.DocumentAttributeVideo: _video,
    types.DocumentAttributeAudio: _audio,
    types.DocumentAttributeSticker: _sticker,
}
