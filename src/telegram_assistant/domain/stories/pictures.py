"""The pictures of a story, each once: copies that look alike and say the same are one picture."""

from collections.abc import Mapping
from dataclasses import dataclass

from telegram_assistant.domain.media.similarity import Look, is_copied_picture
from telegram_assistant.domain.stories.visible import StoryPicture, VisiblePost, VisibleStory

MAX_COMPARED = 60
"""So many different pictures of a story are compared by their looks; later ones by their files alone."""


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """The look of a picture, and the words that our OCR has read in it."""

    look: Look
    words: str


@dataclass(frozen=True, slots=True)
class DistinctPicture:
    """A picture that is shown once: the largest of its copies, and the posts that have one,
    the first first.
    """

    picture: StoryPicture
    shown_by: VisiblePost
    """The post with this copy."""
    posts: tuple[VisiblePost, ...]

    @property
    def in_posts(self) -> int:
        """In how many posts it was seen; an album is one."""
        return len({post.entry for post in self.posts})


def pictures_of(story: VisibleStory, read: Mapping[str, ReadPicture]) -> tuple[DistinctPicture, ...]:
    """Each stored picture once, in the order in which they appeared.

    `read` are files by their hashes; the others are compared by hash alone.
    """
    groups: dict[str, list[tuple[StoryPicture, VisiblePost]]] = {}
    first_by_hash: dict[str, str] = {}
    for post in story.posts:
        for picture in post.pictures:
            first_hash = first_by_hash.get(picture.sha256) or _same(picture.sha256, list(groups), read)
            first_by_hash[picture.sha256] = first_hash
            groups.setdefault(first_hash, []).append((picture, post))
    return tuple(_once(copies) for copies in groups.values())


def _same(sha256: str, firsts: list[str], read: Mapping[str, ReadPicture]) -> str:
    """The first copy of the same picture; the file itself if it is the first.

    Copies of copies may show something else in the end.
    """
    earlier_picture = read.get(sha256)
    if earlier_picture is None:
        return sha256
    for first_hash in firsts[:MAX_COMPARED]:
        first_picture = read.get(first_hash)
        if first_picture is not None and is_copied_picture(
            first_picture.look,
            earlier_picture.look,
            words=first_picture.words,
            other_words=earlier_picture.words,
        ):
            return first_hash
    return sha256


def _once(copies: list[tuple[StoryPicture, VisiblePost]]) -> DistinctPicture:
    largest, shown_by = max(copies, key=lambda copy: (copy[0].width or 0) * (copy[0].height or 0))
    return DistinctPicture(largest, shown_by, tuple(dict.fromkeys(post for _, post in copies)))
