"""A post with all its details, and the versions of its text."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.differences import Piece, pieces_of
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.posts.post import Json
from telegram_assistant.errors import Missing
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.stores.postgres.posts.post_details import PostDetail, PostVersion
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind

NO_POST = Reason("post_unknown", "your channels have no such post")


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page that the post links to, and what was read of it."""

    url: str
    status: str
    title: str | None
    author: str | None
    published_at: str | None
    found_at: str | None
    """The final URL after redirects, if it differs from the link."""
    excerpt: str | None
    why: Reason | None
    """Why it was not read."""


@dataclass(frozen=True, slots=True)
class FullPost:
    """A post with its details, and the analysis results that the tenant's policy lets it see."""

    detail: PostDetail
    link: str
    tags: Enrichment | None
    pictures: Enrichment | None
    album: Enrichment | None
    pages: tuple[ReadPage, ...]


@dataclass(frozen=True, slots=True)
class DescribedVersion:
    """A version and its difference from the one before it; the first known version has none."""

    version: PostVersion
    pieces: tuple[Piece, ...]


async def post_in_full(post_id: PostId, *, stores: TenantStores) -> FullPost:
    """Raises Missing if the post does not exist for the tenant."""
    detail, understood_facts = await asyncio.gather(
        stores.post_details.load_detail(post_id), stores.enrichments.load_every_kind(post_id)
    )
    if detail is None:
        raise Missing(NO_POST)
    return FullPost(
        detail,
        link_to(post_id, detail.username),
        tags=understood_facts.get(Kind.TAGS),
        pictures=understood_facts.get(Kind.VISION),
        album=understood_facts.get(Kind.ALBUM),
        pages=_pages(detail.crawled),
    )


async def load_versions(post_id: PostId, *, stores: TenantStores) -> tuple[DescribedVersion, ...]:
    """Returns the versions, oldest first and the current one last.

    Raises Missing if the post does not exist for the tenant.
    """
    versions = await stores.post_details.versions(post_id)
    if not versions:
        raise Missing(NO_POST)
    return _describe(versions)


def _describe(versions: Sequence[PostVersion]) -> tuple[DescribedVersion, ...]:
    before = (None, *versions[:-1])
    return tuple(
        DescribedVersion(
            version,
            ()
            if previous_version is None
            else pieces_of(previous_version.difference, previous_version.text, version.text),
        )
        for previous_version, version in zip(before, versions, strict=True)
    )


def _pages(crawled_pages: Mapping[str, Json]) -> tuple[ReadPage, ...]:
    pages = crawled_pages.get("pages")
    entries = pages if isinstance(pages, list) else []
    return tuple(
        ReadPage(
            url=str(entry.get("url") or ""),
            status=str(entry.get("status") or ""),
            **{
                name: _text(entry, name)
                for name in ("title", "author", "published_at", "found_at", "excerpt")
            },
            why=_why(entry),
        )
        for entry in entries
        if isinstance(entry, Mapping)
    )


def _why(page: Mapping[str, Json]) -> Reason | None:
    """The reason; a page that an earlier release has read has only its sentence."""
    reason, sentence = page.get("reason"), _text(page, "why")
    if isinstance(reason, Mapping):
        return Reason.from_json(reason)
    return None if sentence is None else quote(sentence)


def _text(facts: Mapping[str, Json], name: str) -> str | None:
    value = facts.get(name)
    return value if isinstance(value, str) else None
