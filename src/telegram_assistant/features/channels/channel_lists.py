"""Lists of channels in files: OPML, as feed readers write it, CSV, or one name per line."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.channels.channels import FollowedChannel

MAX_CHARACTERS = 5_000_000
MAX_LISTED = 10_000
MAX_DEPTH = 20
"""Maximum nesting of folders. No feed reader writes more than a few levels."""
CHANNEL_COLUMNS = ("channel", "username", "link", "url", "канал", "ссылка")
FOLDER_COLUMNS = ("folder", "папка")
"""Headings of a CSV file, in any order; other columns are ignored."""
DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True)
class ListedChannel:
    """An entry of such a file: the reference to a channel, and its folder."""

    reference: str
    folder: str | None = None


def as_opml(channels: Iterable[FollowedChannel], *, title: str) -> str:
    """Writes folders as outlines and channels as outlines inside them.

    A private channel has no URL, only a title and an id.
    """
    root = ET.Element("opml", version="2.0")
    ET.SubElement(ET.SubElement(root, "head"), "title").text = title
    body = ET.SubElement(root, "body")
    folders: dict[str | None, ET.Element] = {None: body}
    for channel in channels:
        if channel.folder not in folders:
            folders[channel.folder] = ET.SubElement(body, "outline", text=channel.folder or "")
        address = {"htmlUrl": f"https://t.me/{channel.username}"} if channel.username else {}
        attributes = {
            "text": channel.title,
            "type": "telegram",
            "channelId": str(channel.channel_id),
            "priority": channel.priority.value,
        }
        ET.SubElement(folders[channel.folder], "outline", {**attributes, **address})
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def as_text(channels: Iterable[FollowedChannel]) -> str:
    """Writes one @name per line, under the name of its folder.

    A private channel has no name that others could use: its line is a comment.
    """
    lines, folder = [], None
    for channel in channels:
        if channel.folder != folder:
            folder = channel.folder
            lines += ["", f"# {_one_line(folder or '')}"]
        title = _one_line(channel.title)
        lines.append(
            f"@{channel.username}  # {title}" if channel.username else f"# {channel.channel_id}  {title}"
        )
    return "\n".join(lines).lstrip("\n") + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def read_list(text: str) -> tuple[ListedChannel, ...]:
    """Reads OPML, CSV with a heading, or lines with references and # comments.

    Raises Rejected if the text names no channel.
    """
    if len(text) > MAX_CHARACTERS:
        raise Rejected(
            Reason(
                "file_too_long",
                "the file has more than {max_characters} characters",
                max_characters=MAX_CHARACTERS,
            )
        )
    text = text.replace("\0", "").lstrip("\ufeff")
    entries = (
        _from_opml(text)
        if text.lstrip().startswith("<")
        else _from_csv(text)
        if _columns(text)
        else _from_lines(text)
    )
    channels = tuple(dict.fromkeys(entries))
    if len(channels) > MAX_LISTED:
        raise Rejected(
            Reason(
                "file_names_too_many",
                "the file has more than {max_channels} channels",
                max_channels=MAX_LISTED,
            )
        )
    if not channels:
        raise Rejected(
            Reason(
                "file_names_none",
                "the file has no channels; write one @name or link per line, or use an OPML file",
            )
        )
    return channels


def decode_list(content: bytes) -> str:
    """Decodes a file: UTF-8, or UTF-16 as spreadsheets write it. Raises Rejected for anything else."""
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise Rejected(
            Reason("file_not_text", "the file is not UTF-8 text; save the list as text, CSV or OPML")
        ) from error


def _from_opml(text: str) -> Iterator[ListedChannel]:
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise Rejected(
            Reason(
                "file_declares_entities",
                "the file declares its own XML entities, and lists of channels need none",
            )
        )
    try:
        root = ET.fromstring(text)  # noqa: S314 -- without a DOCTYPE there is nothing to expand
    except ET.ParseError as error:
        raise Rejected(
            Reason("file_not_opml", "the file is not valid OPML ({error})", error=str(error))
        ) from error
    body = root.find("body")
    yield from _outlines(body if body is not None else root, None, depth=1)


def _outlines(parent: ET.Element, folder: str | None, *, depth: int) -> Iterator[ListedChannel]:
    if depth > MAX_DEPTH:
        raise Rejected(
            Reason(
                "file_nested_too_deep",
                "folders in the file are nested more than {max_depth} deep",
                max_depth=MAX_DEPTH,
            )
        )
    for outline in parent.findall("outline"):
        address = outline.get("htmlUrl") or outline.get("xmlUrl") or outline.get("url")
        if address and "t.me/" in address:
            yield ListedChannel(address, folder)
        elif address is None:
            yield from _outlines(
                outline, outline.get("text") or outline.get("title") or folder, depth=depth + 1
            )


def _columns(text: str) -> tuple[str, int, int | None] | None:
    """Returns the delimiter, and the columns of the channel and of its folder;
    None if the text begins with no such heading.
    """
    heading = next(iter(text.lstrip().splitlines()), "").lower()
    for delimiter in DELIMITERS:
        names = [name.strip().strip('"') for name in heading.split(delimiter)]
        channel = next(
            (names.index(channel_column) for channel_column in CHANNEL_COLUMNS if channel_column in names),
            None,
        )
        if channel is not None:
            return (
                delimiter,
                channel,
                next(
                    (
                        names.index(folder_column)
                        for folder_column in FOLDER_COLUMNS
                        if folder_column in names
                    ),
                    None,
                ),
            )
    return None


def _from_csv(text: str) -> Iterator[ListedChannel]:
    columns = _columns(text)
    assert columns is not None  # the caller has looked
    delimiter, channel, folder = columns
    try:
        for row in list(csv.reader(text.lstrip().splitlines(), delimiter=delimiter))[1:]:
            reference = row[channel].strip() if channel < len(row) else ""
            if reference:
                yield ListedChannel(
                    reference,
                    (row[folder].strip() or None) if folder is not None and folder < len(row) else None,
                )
    except csv.Error as error:
        raise Rejected(
            Reason("file_not_csv", "the file is not valid CSV ({error})", error=str(error))
        ) from error


def _from_lines(text: str) -> Iterator[ListedChannel]:
    """A line may hold several references, with commas, semicolons or tabs between them."""
    for line in text.splitlines():
        for reference in line.partition("#")[0].replace(";", ",").replace("\t", ",").split(","):
            if reference.strip():
                yield ListedChannel(reference.strip())
