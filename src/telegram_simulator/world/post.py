"""A post as the world knows it.

Named tuples, because a page of load makes hundreds of them: they cost a third of a dataclass.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class FileKind(StrEnum):
    """Files whose bytes are really of that format."""

    JPEG = "image/jpeg"
    PNG = "image/png"
    WEBP = "image/webp"
    GIF = "image/gif"
    MP4 = "video/mp4"
    PDF = "application/pdf"


class Drawing(NamedTuple):
    """The content of a picture: a scene that follows from `number`, and words that can be read in it."""

    scene: str
    lines: tuple[str, ...]
    number: int
    change: str = "original"
    """The change to it since: recompressed, cropped, watermarked (with `mark`)."""
    mark: str = ""


class File(NamedTuple):
    """A file. Its bytes follow from its id, its kind, its size and what is drawn in it."""

    file_id: int
    kind: FileKind
    size: int
    dc_id: int
    width: int = 320
    height: int = 200
    drawing: Drawing | None = None
    seconds: float = 1.0
    """How long a film is."""


class Photo(NamedTuple):
    """A picture shown in the post."""

    file: File


class Document(NamedTuple):
    """A file attached to the post: a video, a PDF, a picture sent as a file."""

    file: File
    name: str


class WebPage(NamedTuple):
    """The preview of a link."""

    url: str
    title: str
    description: str


class Poll(NamedTuple):
    """A question with answers."""

    question: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Something newer than the client."""


type Media = Photo | Document | WebPage | Poll | Unsupported


class Entity(NamedTuple):
    """A marked piece of text; offsets in UTF-16 units. Kinds are those of the schema: bold, italic, url,
    text_url and so on.

    `url` is what else the kind says: an address, the language of `pre`, the number of a `custom_emoji`,
    anything for a collapsed `blockquote`.
    """

    kind: str
    offset: int
    length: int
    url: str = ""


class Origin(NamedTuple):
    """The channel, message and date of the post that a forward repeats."""

    channel_id: int
    message_id: int
    date: int


class Service(StrEnum):
    """The event that a service message reports."""

    CREATED = "created"
    PINNED = "pinned"
    TITLE = "title"


class Post(NamedTuple):
    """One message of a channel. Dates are Unix seconds."""

    message_id: int
    date: int
    text: str = ""
    entities: tuple[Entity, ...] = ()
    media: Media | None = None
    service: Service | None = None
    origin: Origin | None = None
    reply_to: int | None = None
    grouped_id: int | None = None
    author: str | None = None
    views: int = 0
    forwards: int = 0
    comments: int | None = None
    reactions: tuple[tuple[str, int], ...] = ()
    edit_date: int | None = None
    edit_hidden: bool = False
