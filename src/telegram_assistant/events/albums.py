"""Events about albums. Their post is the album's first item."""

from typing import ClassVar

from telegram_assistant.events.envelope import Event


class AlbumParsed(Event):
    """An album is complete, as far as can be known."""

    NAME: ClassVar[str] = "albums.parsed"
    grouped_id: int
    message_ids: tuple[int, ...]


class AlbumAssembled(Event):
    """An album's items were all looked at, and are summed up."""

    NAME: ClassVar[str] = "album.assembled"
    grouped_id: int
    message_ids: tuple[int, ...]
