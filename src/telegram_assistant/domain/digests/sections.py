"""The sections of a digest: its entries by folder."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from telegram_assistant.domain.stories.visible import VisibleStory


@dataclass(frozen=True, slots=True)
class Section[Entry]:
    """Entries of one folder; the folder is empty for those without one."""

    folder: str
    entries: tuple[Entry, ...]


def sections_of[Entry](
    entries: Iterable[Entry], folder_of: Callable[[Entry], str | None]
) -> tuple[Section[Entry], ...]:
    """The folder of the weightiest entry first, entries without a folder last; no empty section."""
    by_folder: dict[str, list[Entry]] = {}
    for entry in entries:
        by_folder.setdefault(folder_of(entry) or "", []).append(entry)
    entries_without_folder = by_folder.pop("", None)
    if entries_without_folder is not None:
        by_folder[""] = entries_without_folder
    return tuple(Section(folder, tuple(folder_entries)) for folder, folder_entries in by_folder.items())


def has_folders[Entry](sections: Iterable[Section[Entry]]) -> bool:
    """Whether the sections need headings."""
    return any(section.folder for section in sections)


def folder_of_story(story: VisibleStory) -> str:
    """The folder of most of its channels, of equal ones that of the first; empty without one."""
    channels: dict[str, int] = {}
    for post in story.first_of_channels:
        if post.folder:
            channels[post.folder] = channels.get(post.folder, 0) + 1
    return max(channels, key=channels.__getitem__, default="")
