"""Events about albums. The post of an album event is the album's first item."""

from typing import ClassVar

from telegram_assistant.events.envelope import Event


class AlbumParsed(Event):
    """An album is complete, as far as that can be known."""

    NAME: ClassVar[str] = "albums.parsed"
    VERSION: ClassVar[int] = 2
    grouped_id: int
    message_ids: tuple[int, ...]
    is_overdue: bool = False
    """The album has waited long enough for items that have not been analyzed."""


class AlbumAssembled(Event):
    """All items of an album were analyzed, and their results are combined."""

    NAME: ClassVar[str] = "album.assembled"
    grouped_id: int
    message_ids: tuple[int, ...]
