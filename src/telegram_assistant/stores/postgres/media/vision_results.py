"""Vision results, one per file and tier whichever posts show the file;
results of similar pictures are found by perceptual hash.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import asyncpg
from pydantic_core import to_json

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.media.files import MediaKind
from telegram_assistant.domain.media.similarity import COARSE_BITS, NEAR, Look, is_same_picture, probes
from telegram_assistant.domain.media.vision import VisionFile
from telegram_assistant.domain.media.vision_results import Seen
from telegram_assistant.domain.understanding.policy import Tier, VisionModel
from telegram_assistant.stores.postgres.database import SystemTransactions

MAX_CANDIDATES = 50
FINE_BYTES = 32


@dataclass(frozen=True, slots=True)
class FileResult:
    """The vision result of a file.

    `same_as` is another file with the same picture from which it was copied.
    """

    seen: Seen
    model: VisionModel
    same_as: bytes | None = None


@dataclass(frozen=True, slots=True)
class PostFiles:
    """The files of a post. `is_protected` means protected by its message or by its channel."""

    files: tuple[VisionFile, ...]
    is_protected: bool


class MediaResults:
    """A system store."""

    def __init__(self, transactions: SystemTransactions) -> None:
        self._transactions = transactions

    async def load_post_files(self, post_id: PostId) -> PostFiles:
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(SHOWN, post_id.channel_id, post_id.message_id)
        return PostFiles(tuple(_file(row) for row in rows), any(row["is_protected"] for row in rows))

    async def load_results(self, files: Sequence[bytes]) -> Mapping[bytes, Mapping[Tier, FileResult]]:
        """The stored results of these files."""
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(
                f"SELECT sha256, tier, {RESULT} FROM media_results r WHERE sha256 = ANY($1::bytea[])",
                list(files),
            )
        results: dict[bytes, dict[Tier, FileResult]] = {}
        for row in rows:
            results.setdefault(row["sha256"], {})[Tier(row["tier"])] = _result(row)
        return results

    async def keep(self, sha256: bytes, tier: Tier, result: FileResult) -> None:
        """Replaces the result of a tier, which may come from another model.

        Does nothing for a deleted file.
        """
        model = result.model
        async with self._transactions.begin() as connection:
            await connection.execute(
                KEEP,
                sha256,
                tier.value,
                model.provider,
                model.model,
                model.prompt_version,
                result.same_as,
                to_json(result.seen.as_json()).decode(),
            )

    async def remember_look(self, sha256: bytes, look: Look) -> None:
        async with self._transactions.begin() as connection:
            await connection.execute(
                "UPDATE media_objects SET phash = $2, phash_fine = $3 WHERE sha256 = $1 "
                "AND phash IS DISTINCT FROM $2",
                sha256,
                _to_signed(look.coarse),
                look.fine.to_bytes(FINE_BYTES),
            )

    async def same_picture(
        self, sha256: bytes, look: Look, *, words: str, channel_id: ChannelId, models: frozenset[VisionModel]
    ) -> FileResult | None:
        """A provider's result for another file with the same picture.

        Results from private or protected channels stay there.
        """
        if look.is_plain:
            return None
        pieces = [list(piece) for piece in probes(look.coarse)]
        async with self._transactions.begin() as connection:
            rows = await connection.fetch(SAME, sha256, _to_signed(look.coarse), *pieces, channel_id)
        for row in rows:
            other = stored_look(row["phash"], row["phash_fine"])
            result = _result(row)
            if result.model in models and is_same_picture(look, other, words=words, other_words=row["words"]):
                return FileResult(result.seen, result.model, same_as=row["sha256"])
        return None


def stored_look(phash: int, phash_fine: bytes) -> Look:
    return Look(phash % 2**COARSE_BITS, int.from_bytes(phash_fine))


def _file(row: asyncpg.Record) -> VisionFile:
    columns = {name: row[name] for name in ("ordinal", "mime", "size_bytes", "width", "height", "sha256")}
    return VisionFile(kind=MediaKind(row["kind"]), **columns)


def _result(row: asyncpg.Record) -> FileResult:
    return FileResult(
        Seen.from_data(json.loads(row["data"])),
        VisionModel(row["provider"], row["model"], row["prompt_version"]),
        row["same_as"],
    )


def _to_signed(coarse: int) -> int:
    """Converts an unsigned 64-bit integer into PostgreSQL's signed bigint."""
    return coarse - 2**COARSE_BITS if coarse >= 2 ** (COARSE_BITS - 1) else coarse


RESULT = "r.provider, r.model, r.prompt_version, r.same_as, r.data"

SHOWN = """
SELECT m.ordinal, m.kind, m.mime, m.size_bytes, m.width, m.height, CASE WHEN m.state = 'stored'
    THEN m.sha256 END AS sha256,
       c.protected OR coalesce((p.facts->>'noforwards')::boolean, false) AS is_protected
FROM post_media m JOIN channels c USING (channel_id) JOIN posts p USING (channel_id, message_id)
WHERE m.channel_id = $1 AND m.message_id = $2 ORDER BY m.ordinal
"""

KEEP = """
-- $1 SHA-256, $2 tier, $3 provider, $4 model, $5 prompt version, $6 file it was copied from, $7 data
INSERT INTO media_results AS r (sha256, tier, provider, model, prompt_version, same_as, data)
SELECT o.sha256, $2, $3, $4, $5, $6, $7::jsonb FROM media_objects o WHERE o.sha256 = $1 FOR KEY SHARE
ON CONFLICT (sha256, tier) DO UPDATE
SET provider = excluded.provider, model = excluded.model, prompt_version = excluded.prompt_version,
    same_as = excluded.same_as,
    data = excluded.data, made_at = now()
WHERE (r.provider, r.model, r.prompt_version, r.data) IS DISTINCT
    FROM (excluded.provider, excluded.model, excluded.prompt_version, excluded.data)
"""

# Considers only pictures with a result of their own: a copy of a copy of a copy may show something else in
# the end.
SAME = f"""
-- $1 SHA-256, $2 coarse hash, $3-$6 16-bit pieces of coarse hashes near it, lowest piece first, $7 channel
SELECT o.sha256, o.phash, o.phash_fine, coalesce(l.data->>'text', '') AS words, {RESULT}
FROM media_objects o
JOIN media_results r ON r.sha256 = o.sha256 AND r.tier = 'provider' AND r.same_as IS NULL
JOIN media_results l ON l.sha256 = o.sha256 AND l.tier = 'local'
WHERE o.phash IS NOT NULL AND o.sha256 <> $1
    AND bit_count((o.phash # $2::bigint)::bit({COARSE_BITS})) <= {NEAR}
  AND ((o.phash >> 0 & 65535) = ANY($3::bigint[]) OR (o.phash >> 16 & 65535) = ANY($4::bigint[])
       OR (o.phash >> 32 & 65535) = ANY($5::bigint[]) OR (o.phash >> 48 & 65535) = ANY($6::bigint[]))
  AND EXISTS (SELECT 1 FROM post_media m JOIN channels c USING (channel_id)
              WHERE m.sha256 = o.sha256 AND (m.channel_id = $7 OR NOT (c.is_private OR c.protected)))
ORDER BY bit_count((o.phash # $2::bigint)::bit({COARSE_BITS})), o.sha256 LIMIT {MAX_CANDIDATES}
"""
