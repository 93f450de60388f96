"""Vision results of files, and the summaries of posts and albums."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from telegram_assistant.domain.posts.post import Json
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.reasons import Reason

MAX_CHARACTERS = 20_000
ANALYZED, SKIPPED, FAILED = "analyzed", "skipped", "failed"


@dataclass(frozen=True, slots=True)
class Seen:
    """The vision result of a picture: a description, and the text in it."""

    description: str = ""
    text: str = ""
    is_meme: bool = False
    is_document: bool = False

    def as_json(self) -> dict[str, Json]:
        return {
            "description": self.description,
            "text": self.text,
            "is_meme": self.is_meme,
            "is_document": self.is_document,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Json]) -> "Seen":
        """Reads a stored result; missing values are empty or False."""
        return cls(
            str(data.get("description") or ""),
            str(data.get("text") or ""),
            bool(data.get("is_meme")),
            bool(data.get("is_document")),
        )


@dataclass(frozen=True, slots=True)
class FileVision:
    """One file of a post: the decision about it, and its local and provider results."""

    ordinal: int
    why: Reason
    sha256: bytes | None = None
    local: Seen | None = None
    provider: Seen | None = None
    withheld: str = ""
    """Why no provider has analysed it although one might have: a `FallbackReason`."""
    is_failed: bool = False
    is_document: bool = False

    def result_of(self, tier: Tier) -> Seen | None:
        """The result for a tier; the local result stands in for a missing provider's."""
        return self.local if tier is Tier.LOCAL else self.provider or self.local


def status_of(file_visions: Sequence[FileVision]) -> str:
    """The status of a post: one analysed picture is enough for `analyzed`."""
    if any(file_vision.local or file_vision.provider for file_vision in file_visions):
        return ANALYZED
    return FAILED if any(file_vision.is_failed for file_vision in file_visions) else SKIPPED


def summarize_post(file_visions: Sequence[FileVision], tier: Tier) -> dict[str, Json]:
    """A post's row of a tier: the results of its files, and their summary."""
    ordered_visions = sorted(file_visions, key=lambda file_vision: file_vision.ordinal)
    seen_facts = [
        file_vision.result_of(tier) or Seen(is_document=file_vision.is_document)
        for file_vision in ordered_visions
    ]
    files = [
        {
            "ordinal": file_vision.ordinal,
            "sha256": file_vision.sha256.hex() if file_vision.sha256 else None,
            "why": str(file_vision.why),
            "reason": file_vision.why.as_json(),
            "withheld": file_vision.withheld,
            **view.as_json(),
        }
        for file_vision, view in zip(ordered_visions, seen_facts, strict=True)
    ]
    return {"status": status_of(file_visions), **_together(seen_facts).as_json(), "files": files}


def summarize_album(
    items: Sequence[int], results_by_ordinal: Mapping[int, Mapping[Tier, Mapping[str, Json]]]
) -> dict[Tier, Mapping[str, Json]]:
    """An album's summary from the rows of its items,
    for the local tier and every other tier that an item has.
    """
    tiers = {Tier.LOCAL, *(tier for rows in results_by_ordinal.values() for tier in rows)}
    return {
        tier: _album(
            items,
            {item: rows.get(tier) or rows.get(Tier.LOCAL, {}) for item, rows in results_by_ordinal.items()},
        )
        for tier in tiers
    }


def _album(items: Sequence[int], rows: Mapping[int, Mapping[str, Json]]) -> dict[str, Json]:
    looked_at = [item for item in items if item in rows]
    statuses = {str(rows[item].get("status")) for item in looked_at}
    status = next((outcome for outcome in (ANALYZED, FAILED) if outcome in statuses), SKIPPED)
    together = _together([Seen.from_data(rows[item]) for item in looked_at])
    return {"status": status, **together.as_json(), "message_ids": list(items), "looked_at": looked_at}


def _together(file_results: Iterable[Seen]) -> Seen:
    """Joins results without repetitions."""
    views = list(file_results)
    return Seen(
        description=" ".join(dict.fromkeys(view.description for view in views if view.description))[
            :MAX_CHARACTERS
        ],
        text="\n".join(dict.fromkeys(view.text for view in views if view.text))[:MAX_CHARACTERS],
        is_meme=any(view.is_meme for view in views),
        is_document=any(view.is_document for view in views),
    )
