"""Events about albums. Their post is the album's first item."""

from typing import ClassVar

from telegram_assistant.events.envelope import Event


class AlbumParsed(Event):
    """An album is complete, as far as can be known."""

    NAME: ClassVar[str] = "albums.parsed"
    VERSION: ClassVar[int] = 2
    grouped_id: int
    message_ids: tuple[int, ...]
    is_overdue: bool = False
    """It has waited long enough for items that nobody has looked at."""


class AlbumAssembled(Event):
    """An album's items were all looked at, and are summed up."""

    NAME: ClassVar[str] = "album.assembled"
    grouped_id: int
    message_ids: tuple[int, ...]
