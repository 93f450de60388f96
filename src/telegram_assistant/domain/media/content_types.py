"""The content type of a file, judged by its first bytes alone, and a safe name under which to save it."""

import re
import unicodedata
from enum import StrEnum

FIRST_BYTES = 512
"""Enough of a file to know its type."""
MAX_NAME_CHARACTERS = 120
MAX_EXTENSION_CHARACTERS = 12


class ContentType(StrEnum):
    """Types that a browser may show in a page.

    Every other file is OTHER, whatever its sender calls it, and can only be downloaded.
    """

    JPEG = "image/jpeg"
    PNG = "image/png"
    WEBP = "image/webp"
    GIF = "image/gif"
    BMP = "image/bmp"
    AVIF = "image/avif"
    MP4 = "video/mp4"
    QUICKTIME = "video/quicktime"
    WEBM = "video/webm"
    MP3 = "audio/mpeg"
    M4A = "audio/mp4"
    OGG = "audio/ogg"
    FLAC = "audio/flac"
    WAV = "audio/wav"
    OTHER = "application/octet-stream"

    @property
    def is_picture(self) -> bool:
        return self.startswith("image/")

    @property
    def is_inline(self) -> bool:
        """Whether a browser may show it."""
        return self is not ContentType.OTHER


EXTENSIONS = {
    ContentType.JPEG: ("jpg", "jpeg"),
    ContentType.PNG: ("png",),
    ContentType.WEBP: ("webp",),
    ContentType.GIF: ("gif",),
    ContentType.BMP: ("bmp",),
    ContentType.AVIF: ("avif",),
    ContentType.MP4: ("mp4", "m4v"),
    ContentType.QUICKTIME: ("mov",),
    ContentType.WEBM: ("webm",),
    ContentType.MP3: ("mp3",),
    ContentType.M4A: ("m4a",),
    ContentType.OGG: ("ogg", "oga", "opus"),
    ContentType.FLAC: ("flac",),
    ContentType.WAV: ("wav",),
}

_SIGNATURES = (
    (b"\xff\xd8\xff", ContentType.JPEG),
    (b"\x89PNG\r\n\x1a\n", ContentType.PNG),
    (b"GIF87a", ContentType.GIF),
    (b"GIF89a", ContentType.GIF),
    (b"fLaC", ContentType.FLAC),
    (b"ID3", ContentType.MP3),
)
_IN_RIFF = {b"WEBP": ContentType.WEBP, b"WAVE": ContentType.WAV}
# The first of the brands that a file in an ISO container names.
_BRANDS = {
    **dict.fromkeys(
        (
            b"isom",
            b"iso2",
            b"iso4",
            b"iso5",
            b"iso6",
            b"mp41",
            b"mp42",
            b"avc1",
            b"dash",
            b"MSNV",
            b"M4V ",
            b"M4VH",
            b"M4VP",
        ),
        ContentType.MP4,
    ),
    **dict.fromkeys((b"M4A ", b"M4B "), ContentType.M4A),
    **dict.fromkeys((b"avif", b"avis"), ContentType.AVIF),
    b"qt  ": ContentType.QUICKTIME,
}
_BMP_HEADER_BYTES = frozenset({12, 40, 52, 56, 64, 108, 124})
_SOUNDS_IN_OGG = (b"OpusHead", b"\x01vorbis", b"\x7fFLAC", b"Speex   ")
_MP3_FRAME = re.compile(rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb][\x10-\xeb]", re.DOTALL)
"""The header of a frame of layer III with a known bitrate."""


def sniff_content_type(first_bytes: bytes) -> ContentType:  # noqa: PLR0911 -- one for each container
    """The type of a file that begins with these bytes (FIRST_BYTES of them, if it has so many)."""
    for signature, content_type in _SIGNATURES:
        if first_bytes.startswith(signature):
            return content_type
    if first_bytes.startswith(b"RIFF"):
        return _IN_RIFF.get(first_bytes[8:12], ContentType.OTHER)
    if first_bytes[4:8] == b"ftyp":
        return _BRANDS.get(first_bytes[8:12], ContentType.OTHER)
    if first_bytes.startswith(b"OggS"):
        return ContentType.OGG if first_bytes[28:].startswith(_SOUNDS_IN_OGG) else ContentType.OTHER
    if first_bytes.startswith(b"\x1aE\xdf\xa3"):
        return ContentType.WEBM if b"\x42\x82\x84webm" in first_bytes[:64] else ContentType.OTHER
    if first_bytes.startswith(b"BM") and int.from_bytes(first_bytes[14:18], "little") in _BMP_HEADER_BYTES:
        return ContentType.BMP
    return ContentType.MP3 if _MP3_FRAME.match(first_bytes) else ContentType.OTHER


def safe_file_name(wanted_name: str | None, content_type: ContentType, *, otherwise: str) -> str:
    """A name without folders, control characters and tricks.

    Its extension is that of the content type, if that is known.
    """
    name = _clean(wanted_name or "") or otherwise
    stem, dot, extension = name.rpartition(".")
    if not (stem and dot and len(extension) <= MAX_EXTENSION_CHARACTERS):
        stem, extension = name, ""
    known_extensions = EXTENSIONS.get(content_type, ())
    if known_extensions and extension.lower() not in known_extensions:
        stem, extension = name, known_extensions[0]
    stem = stem[:MAX_NAME_CHARACTERS].rstrip(". ") or otherwise
    return f"{stem}.{extension}" if extension else stem


def _clean(name: str) -> str:
    """Control characters, and those that change the direction of text and so hide an extension,
    are left out.
    """
    visible = "".join(
        character
        for character in unicodedata.normalize("NFC", name)
        if unicodedata.category(character)[0] != "C"
    )
    last_part = re.split(r"[/\\]", visible)[-1]
    return " ".join(re.sub(r'[<>:"|?*]', "_", last_part).split()).strip(". ")
