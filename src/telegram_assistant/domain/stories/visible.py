"""Stories as one tenant sees them: its own posts, joined by links of which it sees both ends."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.differences import Difference
from telegram_assistant.domain.posts.habits import cut_habits
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.stories.story import SUREST, Link, LinkKind
from telegram_assistant.domain.stories.wordings import Voices, WordedPost, find_wordings

STRONG_SCORE = 1.0
"""Links of a lower score may join two events that look alike; only posts behind
stronger ones can contradict each other.
"""
REPEATING = frozenset({LinkKind.FORWARD, LinkKind.COPY})
"""Such a post says what another one has said, in its words."""
type Entry = tuple[ChannelId, int | None, MessageId | None]
"""One message to a reader: a post, or the items of an album."""
NO_VOICES = Voices({}, {})
"""Every post speaks for itself."""


class Grouping(StrEnum):
    """How sure a link must be to hold two posts of a story together."""

    LOOSE = "loose"
    NORMAL = "normal"
    STRICT = "strict"

    def holds(self, link: Link) -> bool:
        """Whether the link is sure enough to be shown."""
        return link.score >= MIN_SCORES[self].get(link.kind, 0.0)


MIN_SCORES: Mapping[Grouping, Mapping[LinkKind, float]] = {
    Grouping.LOOSE: {},
    Grouping.NORMAL: {LinkKind.TRANSLATION: 3.0},
    Grouping.STRICT: {LinkKind.PICTURE: 3.0, LinkKind.REWRITE: 3.0, LinkKind.TRANSLATION: 4.0},
}
"""The lowest logit of a kind. Stored links have a score above 0, a copy 4 at least, a picture without words
in common 2; what Telegram itself states always holds.

Stories are stored with all links, and only what is shown asks for more: a link that is missing counts as 0 in
the average that keeps a story together.
"""


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
    origin: PostId | None = None
    """The post that it forwards, which the tenant may not see."""
    network: ChannelId | None = None
    """The channel that names the network of its channel, as the tenant's posts show it."""
    habits: tuple[int, ...] = ()
    """How its channel begins and ends posts, likewise."""
    is_apart: bool = False
    """The tenant took it out of its story; the items of an album leave together."""

    @property
    def own_text(self) -> str:
        """Without the habits of its channel."""
        return cut_habits(self.text, self.habits)

    @property
    def channel_id(self) -> ChannelId:
        return self.post_id.channel_id

    @property
    def link(self) -> str:
        return link_to(self.post_id, self.username)

    @property
    def entry(self) -> Entry:
        """The items of an album are one entry."""
        return self.post_id.channel_id, self.grouped_id, None if self.grouped_id else self.post_id.message_id

    @property
    def place(self) -> tuple[datetime, ChannelId, MessageId]:
        return self.posted_at, self.post_id.channel_id, self.post_id.message_id


@dataclass(frozen=True, eq=False)
class VisibleStory:
    """Posts that hold together by visible links, in the order of their publication.

    Any of its posts names it. Its own id is that of its first post, so it says nothing about posts that the
    tenant does not see. Stories are kept between pages, so each finds its news and counts its wordings once.
    """

    posts: tuple[VisiblePost, ...]
    follows: Mapping[PostId, Link] = field(default_factory=dict)
    """The surest link of a post to an earlier one of the story."""
    voices: Voices = NO_VOICES
    """Whose words the posts are in, over all languages."""
    groups: Mapping[PostId, int] = field(default_factory=dict)
    """Equal for posts that hold together by strong links; every group is the place of its first post."""

    @property
    def first(self) -> VisiblePost:
        return self.posts[0]

    @property
    def newest(self) -> VisiblePost:
        return self.posts[-1]

    @cached_property
    def entries(self) -> tuple[VisiblePost, ...]:
        """One post for each entry: of an album the one with the text, or else the first."""
        entries: dict[Entry, VisiblePost] = {}
        for post in self.posts:
            first_of_entry = entries.setdefault(post.entry, post)
            if post.text and not first_of_entry.text:
                entries[post.entry] = post
        return tuple(entries.values())

    @property
    def story_id(self) -> PostId:
        return self.first.post_id

    @property
    def first_of_channels(self) -> tuple[VisiblePost, ...]:
        """The first post of each channel, the first channel first."""
        first_by_channel: dict[ChannelId, VisiblePost] = {}
        for post in self.posts:
            first_by_channel.setdefault(post.channel_id, post)
        return tuple(first_by_channel.values())

    @cached_property
    def channel_ids(self) -> tuple[ChannelId, ...]:
        return tuple(dict.fromkeys(post.channel_id for post in self.posts))

    @cached_property
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

    def tells_news_in(self, post: VisiblePost) -> bool:
        """Whether it says anything in words that no earlier post of the story has: a forward, a copy and a
        translation are no news.
        """
        wording_post_id = self.voices.wordings.get(post.post_id, post.post_id)
        is_first = self._entry_by_post_id.get(wording_post_id) == post.entry
        return is_first and not self.repeats(post) and bool(post.text or post.post_id not in self.follows)

    @cached_property
    def _entry_by_post_id(self) -> Mapping[PostId, Entry]:
        return {post.post_id: post.entry for post in self.posts}

    @cached_property
    def newest_news(self) -> VisiblePost:
        """The newest post that repeats no earlier one."""
        return next((post for post in reversed(self.posts) if self.tells_news_in(post)), self.first)

    def count_wordings(self, posts: Iterable[VisiblePost]) -> int:
        """How many of these posts are in words of their own, by different owners; a post without words
        counts only where none has any.
        """
        counted_posts = list(posts)
        return self.voices.count(
            post.post_id for post in [post for post in counted_posts if post.text] or counted_posts
        )

    @cached_property
    def wording_count(self) -> int:
        """Of all its posts."""
        return self.count_wordings(self.posts)

    def has_any(self, post_ids: Collection[PostId]) -> bool:
        return any(post.post_id in post_ids for post in self.posts)

    @cached_property
    def news(self) -> tuple[VisiblePost, ...]:
        """Posts that are news; an album is one post, and a deleted post or advertising is none."""
        return tuple(
            post
            for post in self.entries
            if not post.deleted_at and not post.is_ad and self.tells_news_in(post)
        )

    def news_since(self, moment: datetime) -> tuple[VisiblePost, ...]:
        """The news stored since then."""
        return tuple(post for post in self.news if post.stored_at > moment)


def stories_of(
    posts: Iterable[VisiblePost], links: Sequence[Link], grouping: Grouping
) -> tuple[VisibleStory, ...]:
    """The connected components of the links that are sure enough.

    A post of a private channel never holds two others together, and one that was taken out holds none.
    """
    post_by_id = {post.post_id: post for post in sorted(posts, key=lambda post: post.place)}
    apart_entries = {post.entry for post in post_by_id.values() if post.is_apart}
    sure = [
        link
        for link in links
        if link.post in post_by_id
        and link.other in post_by_id
        and grouping.holds(link)
        and not (apart_entries and _is_cut(post_by_id[link.post], post_by_id[link.other], apart_entries))
    ]
    held_links = [
        link
        for link in sure
        if not link.is_leaf or post_by_id[link.post].entry == post_by_id[link.other].entry
    ]
    index_by_post_id = {post_id: index for index, post_id in enumerate(post_by_id)}
    joining = [*held_links, *_single_links(post_by_id, [link for link in sure if link.is_leaf])]
    root = _join(index_by_post_id, joining)
    strong = _join(
        index_by_post_id, [link for link in joining if link.kind.is_certain or link.score >= STRONG_SCORE]
    )
    members_by_root: dict[int, list[VisiblePost]] = {}
    for index, post in enumerate(post_by_id.values()):
        members_by_root.setdefault(_find(root, index), []).append(post)
    follows = _follows(
        [
            link
            for link in sure
            if _find(root, index_by_post_id[link.post]) == _find(root, index_by_post_id[link.other])
        ],
        post_by_id,
    )
    return tuple(
        _story_of(members, follows, [_find(strong, index_by_post_id[post.post_id]) for post in members])
        for members in members_by_root.values()
    )


def _is_cut(
    post: VisiblePost,
    other: VisiblePost,
    apart_entries: Collection[Entry],
) -> bool:
    return post.entry != other.entry and (post.entry in apart_entries or other.entry in apart_entries)


def _story_of(
    posts: Sequence[VisiblePost], follows: Mapping[PostId, Link], roots: Sequence[int]
) -> VisibleStory:
    its_follows = {post.post_id: follows[post.post_id] for post in posts if post.post_id in follows}
    worded_posts = [WordedPost(post.post_id, post.text, post.origin, post.language) for post in posts]
    owners = {post.channel_id: post.network for post in posts if post.network is not None}
    voices = Voices(find_wordings(worded_posts, its_follows), owners)
    return VisibleStory(tuple(posts), its_follows, voices, _groups(posts, roots))


def _join(index_by_post_id: Mapping[PostId, int], links: Iterable[Link]) -> list[int]:
    root = list(range(len(index_by_post_id)))
    for link in links:
        root[_find(root, index_by_post_id[link.post])] = _find(root, index_by_post_id[link.other])
    return root


def _groups(members: Sequence[VisiblePost], roots: Sequence[int]) -> dict[PostId, int]:
    first_index_by_root: dict[int, int] = {}
    return {
        post.post_id: first_index_by_root.setdefault(root, index)
        for index, (post, root) in enumerate(zip(members, roots, strict=True))
    }


def _find(root: list[int], member_index: int) -> int:
    while root[member_index] != member_index:
        root[member_index] = root[root[member_index]]
        member_index = root[member_index]
    return member_index


def _single_links(post_by_id: Mapping[PostId, VisiblePost], leaves: Sequence[Link]) -> Iterable[Link]:
    """At most one link for each entry of a private channel: the surest, to a public post if there is one."""
    linked_targets: set[Entry] = set()

    def order(link: Link) -> tuple[bool, int, float, PostId, PostId]:
        is_private_pair = post_by_id[link.post].is_private and post_by_id[link.other].is_private
        return is_private_pair, SUREST[link.kind], -link.score, link.post, link.other

    for link in sorted(leaves, key=order):
        private = {
            post_by_id[end].entry for end in (link.post, link.other) if post_by_id[end].is_private
        } or {post_by_id[link.post].entry}
        if post_by_id[link.post].entry != post_by_id[link.other].entry and not private & linked_targets:
            linked_targets |= private
            yield link


def _follows(links: Sequence[Link], post_by_id: Mapping[PostId, VisiblePost]) -> dict[PostId, Link]:
    """For each post its surest link to an earlier one; of several alike the one with the best score,
    then the earliest.
    """
    follows: dict[PostId, Link] = {}
    for link in sorted(
        links, key=lambda link: (SUREST[link.kind], -link.score, post_by_id[link.other].place)
    ):
        if post_by_id[link.other].place < post_by_id[link.post].place:
            follows.setdefault(link.post, link)
    return follows
