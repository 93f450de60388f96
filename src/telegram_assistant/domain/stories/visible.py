"""What one tenant sees of stories: its own posts, joined by links of which it sees both ends."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.differences import Difference
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.stories.story import SUREST, Link, LinkKind

REPEATING = frozenset({LinkKind.FORWARD, LinkKind.COPY})
"""Such a post says what another one has said, in its words."""


class Grouping(StrEnum):
    """How sure a link must be to hold two posts of a story together."""

    LOOSE = "loose"
    NORMAL = "normal"
    STRICT = "strict"

    @property
    def min_score(self) -> float:
        """The lowest logit; links that Telegram itself states are above all of them."""
        return MIN_SCORES[self]


MIN_SCORES = {Grouping.LOOSE: 0.0, Grouping.NORMAL: 1.0, Grouping.STRICT: 3.0}
"""Accepted links have a score above 0; a copy has 4 at least, a picture without words in common 2."""


@dataclass(frozen=True, slots=True)
class StoryPicture:
    """A stored picture of a post; equal hashes are equal files."""

    ordinal: int
    sha256: str
    width: int | None
    height: int | None


@dataclass(frozen=True, slots=True)
class EarlierText:
    """A text that an edit replaced."""

    text: str
    replaced_at: datetime
    difference: Difference | None
    """To the text that replaced it; None until the pipeline has compared them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VisiblePost:
    """A post of a story as the tenant sees it."""

    post_id: PostId
    channel: str
    username: str | None
    posted_at: datetime
    stored_at: datetime
    text: str
    folder: str | None = None
    is_private: bool = False
    deleted_at: datetime | None = None
    revision: int = 1
    language: str | None = None
    views: int | None = None
    is_ad: bool = False
    grouped_id: int | None = None
    pictures: tuple[StoryPicture, ...] = ()
    """Without those that their author has covered."""
    earlier: tuple[EarlierText, ...] = ()
    """Oldest first; empty where only a list of stories was asked for."""

    @property
    def channel_id(self) -> ChannelId:
        return self.post_id.channel_id

    @property
    def link(self) -> str:
        return link_to(self.post_id, self.username)

    @property
    def entry(self) -> tuple[ChannelId, int | None, MessageId | None]:
        """The items of an album are one entry."""
        return self.post_id.channel_id, self.grouped_id, None if self.grouped_id else self.post_id.message_id

    @property
    def place(self) -> tuple[datetime, ChannelId, MessageId]:
        return self.posted_at, self.post_id.channel_id, self.post_id.message_id


@dataclass(frozen=True, slots=True)
class VisibleStory:
    """Posts that hold together by visible links, in the order of their publication.

    Any of its posts names it. Its own id is that of its first post, so it says nothing about posts that the
    tenant does not see.
    """

    posts: tuple[VisiblePost, ...]
    follows: Mapping[PostId, Link] = field(default_factory=dict)
    """The surest link of a post to an earlier one of the story."""

    @property
    def first(self) -> VisiblePost:
        return self.posts[0]

    @property
    def newest(self) -> VisiblePost:
        return self.posts[-1]

    @property
    def entries(self) -> tuple[VisiblePost, ...]:
        """One post for each entry: of an album the one with the text, or else the first."""
        entries: dict[tuple[ChannelId, int | None, MessageId | None], VisiblePost] = {}
        for post in self.posts:
            known = entries.setdefault(post.entry, post)
            if post.text and not known.text:
                entries[post.entry] = post
        return tuple(entries.values())

    @property
    def story_id(self) -> PostId:
        return self.first.post_id

    @property
    def first_of_channels(self) -> tuple[VisiblePost, ...]:
        """The first post of each channel, the first channel first."""
        first: dict[ChannelId, VisiblePost] = {}
        for post in self.posts:
            first.setdefault(post.channel_id, post)
        return tuple(first.values())

    @property
    def channel_ids(self) -> tuple[ChannelId, ...]:
        return tuple(dict.fromkeys(post.channel_id for post in self.posts))

    @property
    def folders(self) -> frozenset[str]:
        return frozenset(post.folder for post in self.posts if post.folder)

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(post.language for post in self.posts if post.language))

    @property
    def edited(self) -> int:
        return sum(post.revision > 1 for post in self.posts)

    @property
    def deleted(self) -> int:
        return sum(post.deleted_at is not None for post in self.posts)

    def repeats(self, post: VisiblePost) -> bool:
        """Whether it forwards or copies an earlier post of the story."""
        link = self.follows.get(post.post_id)
        return link is not None and link.kind in REPEATING

    def has_any(self, posts: Collection[PostId]) -> bool:
        return any(post.post_id in posts for post in self.posts)

    def stored_since(self, moment: datetime) -> tuple[VisiblePost, ...]:
        return tuple(post for post in self.posts if post.stored_at > moment)


def stories_of(
    posts: Iterable[VisiblePost], links: Sequence[Link], grouping: Grouping
) -> tuple[VisibleStory, ...]:
    """The connected components of the links that are sure enough.

    A post of a private channel never holds two others together.
    """
    known = {post.post_id: post for post in sorted(posts, key=lambda post: post.place)}
    sure = [
        link
        for link in links
        if link.post in known
        and link.other in known
        and (link.kind.is_certain or link.score >= grouping.min_score)
    ]
    held = [link for link in sure if not link.is_leaf or known[link.post].entry == known[link.other].entry]
    places = {post_id: place for place, post_id in enumerate(known)}
    root = list(range(len(known)))
    for link in [*held, *_single_links(known, [link for link in sure if link.is_leaf])]:
        root[_find(root, places[link.post])] = _find(root, places[link.other])
    together: dict[int, list[VisiblePost]] = {}
    for place, post in enumerate(known.values()):
        together.setdefault(_find(root, place), []).append(post)
    follows = _follows(
        [link for link in sure if _find(root, places[link.post]) == _find(root, places[link.other])], known
    )
    return tuple(
        VisibleStory(
            tuple(members),
            {post.post_id: follows[post.post_id] for post in members if post.post_id in follows},
        )
        for members in together.values()
    )


def _find(root: list[int], place: int) -> int:
    while root[place] != place:
        root[place] = root[root[place]]
        place = root[place]
    return place


def _single_links(known: Mapping[PostId, VisiblePost], leaves: Sequence[Link]) -> Iterable[Link]:
    """At most one link for each entry of a private channel: the surest, to a public post if there is one."""
    taken: set[tuple[ChannelId, int | None, MessageId | None]] = set()

    def order(link: Link) -> tuple[bool, int, float, PostId, PostId]:
        both = known[link.post].is_private and known[link.other].is_private
        return both, SUREST[link.kind], -link.score, link.post, link.other

    for link in sorted(leaves, key=order):
        private = {known[end].entry for end in (link.post, link.other) if known[end].is_private} or {
            known[link.post].entry
        }
        if known[link.post].entry != known[link.other].entry and not private & taken:
            taken |= private
            yield link


def _follows(links: Sequence[Link], known: Mapping[PostId, VisiblePost]) -> dict[PostId, Link]:
    """For each post its surest link to an earlier one; of several alike the one with the best score,
    then the earliest.
    """
    follows: dict[PostId, Link] = {}
    for link in sorted(links, key=lambda link: (SUREST[link.kind], -link.score, known[link.other].place)):
        if known[link.other].place < known[link.post].place:
            follows.setdefault(link.post, link)
    return follows
