"""The content type of a file follows from its bytes, not its name; and the names of saved files."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from telegram_assistant.domain.media.content_types import (
    FIRST_BYTES,
    ContentType,
    safe_file_name,
    sniff_content_type,
)


@pytest.mark.parametrize(
    "content_type", [content_type for content_type in ContentType if content_type.is_picture]
)
def test_a_picture_is_known_by_its_first_bytes(content_type: ContentType) -> None:
    written = io.BytesIO()
    Image.new("RGB", (60, 40), "navy").save(written, content_type.name)
    assert sniff_content_type(written.getvalue()[:FIRST_BYTES]) is content_type


@pytest.mark.parametrize(
    ("first", "content_type"),
    [
        (b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00", ContentType.MP4),
        (b"\x00\x00\x00\x14ftypqt  \x20\x05\x03\x00", ContentType.QUICKTIME),
        (b"\x00\x00\x00\x1cftypM4A \x00\x00\x02\x00", ContentType.M4A),
        (
            (
                b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01"
                b"\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm"
            ),
            ContentType.WEBM,
        ),
        (b"ID3\x04\x00\x00", ContentType.MP3),
        (b"\xff\xfb\x90\x64\x00\x0f", ContentType.MP3),
        (b"OggS\x00\x02" + bytes(20) + b"\x01\x13OpusHead", ContentType.OGG),
        (b"OggS\x00\x02" + bytes(20) + b"\x01\x1e\x01vorbis", ContentType.OGG),
        (b"fLaC\x00\x00\x00\x22", ContentType.FLAC),
        (b"RIFF\x24\x08\x00\x00WAVEfmt ", ContentType.WAV),
    ],
)
def test_films_and_sounds_are_known_by_their_first_bytes(first: bytes, content_type: ContentType) -> None:
    assert sniff_content_type(first) is content_type


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"<!doctype html><script>alert(1)</script>",
        b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
        b'<?xml version="1.0"?><svg/>',
        b"%PDF-1.7\n",
        b"PK\x03\x04",
        b"MZ\x90\x00",
        b"BMW prices\r\n<script>",
        b"\xff\xfe<\x00s\x00v\x00g\x00",
        b"\xff\xff\xff\xff",
        b"RIFF\x24\x08\x00\x00AVI LIST",
        b"\x00\x00\x00\x18ftypheic",
        b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska",
        b"OggS\x00\x02" + bytes(20) + b"\x01\x2a\x80theora",
        b" \x89PNG\r\n\x1a\n",
    ],
)
def test_everything_else_can_only_be_downloaded(first: bytes) -> None:
    assert sniff_content_type(first) is ContentType.OTHER
    assert not ContentType.OTHER.is_inline


@pytest.mark.parametrize(
    ("wanted", "content_type", "name"),
    [
        ("Снег в городе.jpeg", ContentType.JPEG, "Снег в городе.jpeg"),
        ("PHOTO.JPG", ContentType.JPEG, "PHOTO.JPG"),
        ("setup.exe", ContentType.JPEG, "setup.exe.jpg"),
        ("setup.exe", ContentType.OTHER, "setup.exe"),
        ("../../etc/passwd", ContentType.OTHER, "passwd"),
        ("C:\\Windows\\notes.txt", ContentType.OTHER, "notes.txt"),
        ("page.html\r\nSet-Cookie: a=b", ContentType.OTHER, "page.htmlSet-Cookie_ a=b"),
        ("cod\u202egpj.exe", ContentType.OTHER, "codgpj.exe"),
        ('a"b\u2028c?.pdf', ContentType.OTHER, "a_b c_.pdf"),
        (".htaccess", ContentType.OTHER, "htaccess"),
        ("..", ContentType.PNG, "5-1-0.png"),
        ("\x00", ContentType.OTHER, "5-1-0"),
        (None, ContentType.MP4, "5-1-0.mp4"),
        ("a" * 500 + ".mp3", ContentType.MP3, "a" * 120 + ".mp3"),
    ],
)
def test_a_file_is_saved_under_a_name_without_tricks(
    wanted: str | None, content_type: ContentType, name: str
) -> None:
    assert safe_file_name(wanted, content_type, otherwise="5-1-0") == name


@given(st.text(), st.sampled_from(ContentType))
def test_a_name_is_short_and_has_no_folder_and_no_control_characters(
    wanted: str, content_type: ContentType
) -> None:
    name = safe_file_name(wanted, content_type, otherwise="file")
    assert name
    assert len(name) <= 140
    assert name.isprintable()
    assert not set(name) & set('/\\":<>|?*')
    assert not name.startswith(".")
