"""Tags: the vocabulary, a tenant's own names for tags, the most used tags, and the posts with a tag."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.understanding.vocabulary import tag_in
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.features.feed.tenant_feed import FeedPage, load_page
from telegram_assistant.features.understanding.recent import Recent
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.feed.tenant_feed import Cursor
from telegram_assistant.stores.postgres.search.search import FAR_FUTURE, SearchFilters, SearchPosition
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.understanding.tag_use import KnownTag, TagCount
from telegram_assistant.stores.postgres.understanding.tenant_tags import TagChoice
from telegram_assistant.stores.postgres.understanding.vocabularies import TagLine, TagState, Vocabularies

MAX_TAGS = 1000
MAX_WINDOW = timedelta(days=31)
RECENT = timedelta(days=7)
TIES = 20
"""So many posts more are met, because posts of one second may stand in another order."""
WALK_BUDGET = timedelta(milliseconds=40)
"""Enough for a tag that one post in thirty has.

The index takes as long for the rarer ones, and four times as long for one post in fourteen.
"""


@dataclass(frozen=True, slots=True)
class TenantTag:
    """A tag of the vocabulary, with the tenant's own name for it."""

    language: str
    tag: str
    topic: str
    shown_as: str | None = None
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class InstallationTag:
    """A tag in any state, with the tenant's own name for it and how many channels proposed it."""

    tag: TenantTag
    state: TagState
    channels: int


@dataclass(frozen=True, slots=True)
class TaggedPosts:
    """A page of posts with a tag, newest first; `next` is None on the last page."""

    posts: tuple[PostId, ...]
    next: Cursor | None


async def vocabulary(*, stores: TenantStores, language: str | None = None) -> tuple[TenantTag, ...]:
    """Returns the tags by language and topic, hidden ones included."""
    choices = await _choices(stores)
    return tuple(
        _tenant_tag(entry, choices)
        for entry in await stores.tag_use.vocabulary()
        if language in {None, entry.language} and not entry.is_retired
    )


async def vocabulary_of_installation(
    *, stores: TenantStores, vocabularies: Vocabularies, language: str | None = None
) -> tuple[InstallationTag, ...]:
    """Returns the tags in every state, for the operator; tenants do not see which tags channels propose."""
    choices = await _choices(stores)
    return tuple(
        InstallationTag(_tenant_tag(line, choices), line.state, line.channels)
        for line in await vocabularies.lines(language)
    )


async def choose_tag(
    tag: str, *, stores: TenantStores, shown_as: str | None = None, is_hidden: bool = False
) -> tuple[TenantTag, ...]:
    """Hides or renames a tag, or with neither shows it as it is, in every language that has it. Raises
    Missing if none has it.

    A hidden tag keeps its name.
    """
    name = None if shown_as is None else tag_in(shown_as)
    if shown_as is not None and name is None:
        raise Rejected(
            Reason(
                "tag_name_invalid",
                "{shown_as!r} is not a valid name for a tag: write one to four words",
                shown_as=shown_as,
            )
        )
    entries = [entry for entry in await stores.tag_use.vocabulary() if entry.tag == tag.casefold()]
    if not entries:
        raise Missing(
            Reason(
                "tag_unknown_in_vocabulary",
                "there is no tag {tag!r}; the list of tags has the right names",
                tag=tag,
            )
        )
    names = {key: choice.shown_as for key, choice in (await _choices(stores)).items()} if is_hidden else {}
    chosen_choices = [
        TagChoice(entry.language, entry.tag, name or names.get((entry.language, entry.tag)), is_hidden)
        for entry in entries
    ]
    for choice in chosen_choices:
        await stores.tags.choose(choice)
    return tuple(
        TenantTag(entry.language, entry.tag, entry.topic, choice.shown_as, is_hidden)
        for entry, choice in zip(entries, chosen_choices, strict=True)
    )


async def most_used(
    since: datetime, until: datetime, *, stores: TenantStores, limit: int = 50
) -> tuple[TagCount, ...]:
    """Counts tags of posts in this period, under the tenant's names and without hidden ones.

    Raises Rejected for more than 31 days.
    """
    if not timedelta(0) < until - since <= MAX_WINDOW:
        raise Rejected(
            Reason(
                "period_invalid",
                "the period must be at most {max_days} days long and end after it begins",
                max_days=MAX_WINDOW.days,
            )
        )
    names = await _names(stores)
    sums: dict[str, TagCount] = {}
    for count in await stores.tag_use.most_used(since, until, limit=MAX_TAGS):
        name = names.get(count.tag, count.tag)
        if name is not None:
            # If two tags have one name, a post or channel with both counts twice; the order is still right.
            before = sums.get(name, TagCount(name, 0, 0))
            sums[name] = TagCount(name, before.posts + count.posts, max(before.channels, count.channels))
    return tuple(sorted(sums.values(), key=lambda total: (-total.posts, total.tag))[:limit])


async def recently_used(
    tenant_id: TenantId,
    *,
    recent: Recent[tuple[TagCount, ...]],
    stores: TenantStores,
    now: datetime,
    limit: int,
) -> tuple[TagCount, ...]:
    """Returns the most used tags of the last seven days, counted at most a minute ago."""
    return await recent.get_or_count(
        tenant_id,
        lambda: most_used(now - RECENT, now, stores=stores, limit=limit),
        now=now,
        variant=limit,
    )


async def posts_by_tag(
    name: str, *, since: datetime, stores: TenantStores, limit: int = 50, before: Cursor | None = None
) -> FeedPage:
    """Returns posts with a tag, newest first, by the tenant's name for it.

    Raises Missing if no tag has this name or it is hidden.
    """
    tagged_posts = await find_by_tag(name, since=since, stores=stores, limit=limit, before=before)
    loaded = (await stores.words.load(tagged_posts.posts)).posts
    page = await load_page(
        [loaded[post_id] for post_id in tagged_posts.posts if post_id in loaded], stores=stores, limit=limit
    )
    return replace(page, next=tagged_posts.next)


async def find_by_tag(
    name: str, *, since: datetime, stores: TenantStores, limit: int, before: Cursor | None = None
) -> TaggedPosts:
    """Returns which posts have a tag, like `posts_by_tag`, for who reads them otherwise."""
    entries, renamed = await asyncio.gather(stores.tag_use.vocabulary(), _names(stores))
    names: dict[str, str | None] = {**{entry.tag: entry.tag for entry in entries}, **renamed}
    tags = [tag for tag, own_name in names.items() if own_name == name.casefold()]
    if not tags:
        raise Missing(Reason("tag_unknown", "there is no tag {tag!r}", tag=name))
    match_positions = await _frequent(tags, since=since, stores=stores, limit=limit + 1, before=before)
    if match_positions is None:
        match_positions = await stores.tag_use.places(tags, since=since, limit=limit + 1, before=before)
    page = match_positions[:limit]
    return TaggedPosts(
        tuple(PostId(place.channel_id, place.message_id) for place in page),
        page[-1] if len(match_positions) > limit else None,
    )


async def _frequent(
    tags: Sequence[str], *, since: datetime, stores: TenantStores, limit: int, before: Cursor | None
) -> Sequence[Cursor] | None:
    """Walks back through the newest posts, which finds a frequent tag sooner than its index does. None if too
    few were met in a short time.

    The walk has another order for posts of the same second, so all posts of the cursor's second are met, and
    those of the last one are left out.
    """
    position = SearchPosition(before.posted_at, -1, -1) if before else SearchPosition(FAR_FUTURE)
    limits = SearchFilters(tags=tuple(tags), since=since, with_ads=True)
    met = await stores.words.find((), limits, before=position, max_rows=limit + TIES, budget=WALK_BUDGET)
    oldest_posted_at = min((match.posted_at for match in met.complete), default=FAR_FUTURE)
    match_positions = [
        (match.posted_at, match.post_id) for match in met.complete if match.posted_at > oldest_posted_at
    ]
    if before:
        match_positions = [
            place
            for place in match_positions
            if place < (before.posted_at, PostId(before.channel_id, before.message_id))
        ]
    if len(match_positions) < limit:
        return None
    return [
        Cursor(posted_at, *post_id) for posted_at, post_id in sorted(match_positions, reverse=True)[:limit]
    ]


async def _choices(stores: TenantStores) -> dict[tuple[str, str], TagChoice]:
    return {(choice.language, choice.tag): choice for choice in await stores.tags.choices()}


def _tenant_tag(entry: KnownTag | TagLine, choices: Mapping[tuple[str, str], TagChoice]) -> TenantTag:
    choice = choices.get((entry.language, entry.tag), TagChoice(entry.language, entry.tag))
    return TenantTag(entry.language, entry.tag, entry.topic, choice.shown_as, choice.hidden)


async def _names(stores: TenantStores) -> dict[str, str | None]:
    """Returns the tenant's names of tags that it has renamed or hidden; None for hidden ones."""
    return {
        choice.tag: None if choice.hidden else choice.shown_as or choice.tag
        for choice in await stores.tags.choices()
    }
