"""Enrichments of posts, one row per post, kind and tier:
a local result and a provider's stand side by side.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import asyncpg
from pydantic_core import to_json

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.post import Json
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.stores.postgres.database import SystemTransactions, TenantTransactions


class Kind(str):
    """The kind of a result.

    A stage that stores results of its own declares its kind beside its handler: `URGENCY = Kind("urgency")`.
    """

    __slots__ = ()

    TAGS: ClassVar["Kind"]
    VISION: ClassVar["Kind"]
    ALBUM: ClassVar["Kind"]


Kind.TAGS, Kind.VISION, Kind.ALBUM = Kind("tags"), Kind("vision"), Kind("album")
PAGE_KINDS = (Kind.TAGS, Kind.VISION, Kind.ALBUM)
"""The kinds that a post's details show."""


@dataclass(frozen=True, slots=True)
class Enrichment:
    """A result about one revision of a post."""

    post_id: PostId
    revision: int
    kind: Kind
    tier: Tier
    data: Mapping[str, Json]
    provider: str = "local"
    model: str = ""
    prompt_version: str = ""


class Enrichments:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def save(self, enrichments: Sequence[Enrichment]) -> None:
        """Saves results about the current revision of each post; skips results about older revisions and
        deleted posts.

        Saving the same again changes nothing. Of two results for the same post, kind and tier, the last one
        counts.
        """
        rows = {
            (enrichment.post_id, enrichment.kind, enrichment.tier): enrichment for enrichment in enrichments
        }
        if not rows:
            return
        ordered_rows = [rows[key] for key in sorted(rows)]
        async with self._transactions.begin() as connection:
            await connection.execute(
                SAVE,
                [enrichment.post_id.channel_id for enrichment in ordered_rows],
                [enrichment.post_id.message_id for enrichment in ordered_rows],
                [enrichment.revision for enrichment in ordered_rows],
                [enrichment.kind for enrichment in ordered_rows],
                [enrichment.tier.value for enrichment in ordered_rows],
                [enrichment.provider for enrichment in ordered_rows],
                [enrichment.model for enrichment in ordered_rows],
                [enrichment.prompt_version for enrichment in ordered_rows],
                [to_json(enrichment.data).decode() for enrichment in ordered_rows],
            )

    async def load(self, post_ids: Sequence[PostId], kind: Kind) -> tuple[Enrichment, ...]:
        """The results of this kind about these posts, in all tiers, in no particular order."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                LOAD,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
                kind,
            )
        return tuple(enrichment_in(row) for row in rows)


class PostEnrichments:
    """A tenant store: the enrichments of the posts that this tenant sees."""

    def __init__(self, transactions: TenantTransactions) -> None:
        self._transactions = transactions

    async def load_best(self, post_ids: Sequence[PostId], kind: Kind) -> Mapping[PostId, Enrichment]:
        """The best result that the tenant's policies allow: a provider's, otherwise the local one. Row-level
        security selects the rows.

        Tags are those that were stored, not the tenant's names of them.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                LOAD_OWN,
                [post_id.channel_id for post_id in post_ids],
                [post_id.message_id for post_id in post_ids],
                kind,
            )
        return {enrichment.post_id: enrichment for enrichment in _best_last(rows)}

    async def load_every_kind(self, post_id: PostId) -> Mapping[Kind, Enrichment]:
        """Like `load_best`, for every kind of result about one post.

        Tags have the names that the tenant has chosen; hidden tags are left out.
        """
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(LOAD_ALL, post_id.channel_id, post_id.message_id, PAGE_KINDS)
            tag_choices = await connection.fetch("SELECT tag, shown_as, hidden FROM tenant_tags")
        choices = _choices(tag_choices)
        return {
            enrichment.kind: _as_chosen(enrichment, choices) if enrichment.kind == Kind.TAGS else enrichment
            for enrichment in _best_last(rows)
        }


def _best_last(rows: Sequence[asyncpg.Record]) -> list[Enrichment]:
    return sorted(
        map(enrichment_in, rows),
        key=lambda enrichment: (enrichment.revision, enrichment.tier is Tier.PROVIDER),
    )


def _choices(rows: Sequence[asyncpg.Record]) -> Mapping[str, str | None]:
    return {row["tag"]: None if row["hidden"] else row["shown_as"] or row["tag"] for row in rows}


def _as_chosen(enrichment: Enrichment, choices: Mapping[str, str | None]) -> Enrichment:
    tags = enrichment.data.get("tags")
    visible_tags = (
        [name for tag in tags if (name := choices.get(str(tag), str(tag))) is not None]
        if isinstance(tags, list)
        else []
    )
    return replace(enrichment, data={**enrichment.data, "tags": visible_tags})


def enrichment_in(row: asyncpg.Record) -> Enrichment:
    """Reads a row selected with COLUMNS."""
    return Enrichment(
        post_id=PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])),
        revision=row["revision"],
        kind=Kind(row["kind"]),
        tier=Tier(row["tier"]),
        data=json.loads(row["data"]),
        provider=row["provider"],
        model=row["model"],
        prompt_version=row["prompt_version"],
    )


# A tenant counts the revisions of a result like those of the post.
_OWN_REVISION = (
    "CASE WHEN revision > 1 THEN greatest(1, revision - revisions_before(channel_id, "
    "message_id)) ELSE revision END AS revision"
)


def _columns(revision: str) -> str:
    return f"channel_id, message_id, {revision}, kind, tier, data, provider, model, prompt_version"


COLUMNS, OWN_COLUMNS = _columns("revision"), _columns(_OWN_REVISION)

# Rows are written in the order of the key, so that two processes that save the same posts cannot deadlock.
SAVE = """
-- arrays, one element per result: $1 channel, $2 message, $3 revision, $4 kind, $5 tier, $6 provider, $7
-- model, $8 prompt version, $9 data
INSERT INTO post_enrichment (channel_id, message_id, kind, tier, provider, model, prompt_version,
    content_hash, revision, data)
SELECT p.channel_id, p.message_id, n.kind, n.tier, n.provider, n.model, n.prompt_version, p.content_hash,
    n.revision, n.data
FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::jsonb[])
     AS n(channel_id, message_id, revision, kind, tier, provider, model, prompt_version, data)
JOIN posts p ON p.channel_id = n.channel_id AND p.message_id = n.message_id AND p.revision = n.revision
    AND p.deleted_at IS NULL
ORDER BY 1, 2, 3, 4
ON CONFLICT (channel_id, message_id, kind, tier) DO UPDATE SET
    provider = excluded.provider, model = excluded.model, prompt_version = excluded.prompt_version,
    content_hash = excluded.content_hash, revision = excluded.revision, data = excluded.data, made_at = now()
WHERE post_enrichment.revision < excluded.revision
   OR post_enrichment.revision = excluded.revision
      AND (post_enrichment.data, post_enrichment.provider, post_enrichment.model,
          post_enrichment.prompt_version)
          IS DISTINCT FROM (excluded.data, excluded.provider, excluded.model, excluded.prompt_version)
"""

LOAD_ALL = (
    f"SELECT {OWN_COLUMNS} FROM post_enrichment WHERE channel_id = $1 AND message_id = $2 AND kind = ANY($3)"
)

_LOAD = """
SELECT e.* FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
CROSS JOIN LATERAL (
    SELECT {columns} FROM post_enrichment WHERE channel_id = w.channel_id AND message_id = w.message_id
        AND kind = $3 OFFSET 0
) e
"""
LOAD, LOAD_OWN = _LOAD.format(columns=COLUMNS), _LOAD.format(columns=OWN_COLUMNS)
