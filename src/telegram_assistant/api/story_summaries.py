"""The summary of a story in responses."""

from collections.abc import Callable
from datetime import datetime

from pydantic import Field

from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.reasons import Reason
from telegram_assistant.summaries.values import (
    ChangeSort,
    CitedSentence,
    LatestSentence,
    NumberClaim,
    StorySummary,
    WrittenSummary,
)


class CitedSentenceResponse(ResponseModel):
    """A sentence, and the ids of the posts that say it."""

    text: str
    post_ids: list[str]


class WordedSentenceResponse(CitedSentenceResponse):
    """A sentence of a summary, and how many say it for themselves."""

    wordings: int = Field(
        description="How many of the posts say it in words of their own, by different owners of channels. "
        "The others repeat it."
    )
    source: str | None = Field(description="The source that every one of several wordings names.")


class ClaimResponse(ResponseModel):
    """A number as some channels give it, with one post of each of them."""

    number: str
    post_ids: list[str]


class DisputeResponse(ResponseModel):
    """Channels give different numbers of the same thing. `stands` is what most of them say now."""

    sentence: CitedSentenceResponse
    stands: ClaimResponse
    others: list[ClaimResponse]


class AdditionResponse(ResponseModel):
    """A sentence of one channel that adds to the story. Other channels may repeat it."""

    channel: str
    sentence: WordedSentenceResponse


class CorrectionResponse(ResponseModel):
    """A correction, an update, a denial, or a post that was deleted."""

    kind: ChangeSort
    channel: str
    text: str
    post_id: str


class LatestSentenceResponse(ResponseModel):
    """The newest sentence that no earlier post has."""

    text: str
    channel: str
    posted_at: datetime
    post_ids: list[str]


class StorySummaryResponse(ResponseModel):
    """The story in sentences of its own posts, in one language.

    `in_own_words`: what happened, which one channel may be alone with; then what at least two owners of
    channels say in their own words.
    """

    language: str
    state_at: datetime | None = Field(
        description="When the state changed to what the first of `in_own_words` says; null if it did not."
    )
    before: CitedSentenceResponse | None = Field(description="The headline until the state changed.")
    latest: LatestSentenceResponse | None = Field(
        description="The newest news that the headline does not tell."
    )
    in_own_words: list[WordedSentenceResponse]
    disputed: list[DisputeResponse]
    added: list[AdditionResponse]
    corrections: list[CorrectionResponse]


class WrittenSummaryResponse(ResponseModel):
    """A provider's summary of the story, each sentence compared with the posts that it cites.

    `cost_micro` is in millionths of `unit`.
    """

    sentences: list[CitedSentenceResponse] = Field(description="Empty if the posts support nothing of it.")
    provider: str
    model: str
    unit: str
    cost_micro: int
    replaced_count: int = Field(
        description="Doubtful sentences of the provider, shown as the sentence of the post."
    )
    rejected_reasons: list[str] = Field(
        description="Why sentences of the provider are not shown, one reason each."
    )


WRITTEN_EXAMPLE = {
    "sentences": [
        {"text": "The bridge is closed to trucks until April.", "post_ids": ["1234567890/42", "1234567891/7"]}
    ],
    "provider": "gigachat",
    "model": "GigaChat-2",
    "unit": "RUB",
    "cost_micro": 84100,
    "replaced_count": 0,
    "rejected_reasons": ["a number that no cited post has"],
}
SUMMARY_EXAMPLE = {
    "language": "en",
    "state_at": None,
    "before": None,
    "latest": {
        "text": "The bridge opens to buses in March.",
        "channel": "Roads today",
        "posted_at": "2026-11-16T09:40:00Z",
        "post_ids": ["1234567891/9"],
    },
    "in_own_words": [
        {
            "text": "The bridge is closed to trucks until April.",
            "post_ids": ["1234567890/42", "1234567891/7"],
            "wordings": 2,
            "source": None,
        }
    ],
    "disputed": [],
    "added": [
        {
            "channel": "Roads today",
            "sentence": {
                "text": "The detour is 12 km longer.",
                "post_ids": ["1234567891/7"],
                "wordings": 1,
                "source": None,
            },
        }
    ],
    "corrections": [],
}


def cited_sentence_response(sentence: CitedSentence) -> CitedSentenceResponse:
    return CitedSentenceResponse(text=sentence.text, post_ids=[str(post_id) for post_id in sentence.posts])


def _worded_sentence_response(sentence: CitedSentence) -> WordedSentenceResponse:
    return WordedSentenceResponse(
        text=sentence.text,
        post_ids=[str(post_id) for post_id in sentence.posts],
        wordings=sentence.wordings,
        source=sentence.source or None,
    )


def _claim(claim: NumberClaim) -> ClaimResponse:
    return ClaimResponse(number=claim.number, post_ids=[str(post_id) for post_id in claim.posts])


def _latest(latest: LatestSentence) -> LatestSentenceResponse:
    return LatestSentenceResponse(
        text=latest.text,
        channel=latest.channel,
        posted_at=latest.posted_at,
        post_ids=[str(post_id) for post_id in latest.posts],
    )


def summary_response(summary: StorySummary) -> StorySummaryResponse:
    return StorySummaryResponse(
        language=summary.language,
        state_at=summary.state_at,
        before=cited_sentence_response(summary.before) if summary.before else None,
        latest=_latest(summary.latest) if summary.latest else None,
        in_own_words=[_worded_sentence_response(sentence) for sentence in summary.known],
        disputed=[
            DisputeResponse(
                sentence=cited_sentence_response(dispute.sentence),
                stands=_claim(dispute.stands),
                others=[_claim(other) for other in dispute.others],
            )
            for dispute in summary.disputed
        ],
        added=[
            AdditionResponse(channel=addition.channel, sentence=_worded_sentence_response(addition.sentence))
            for addition in summary.added
        ],
        corrections=[
            CorrectionResponse(
                kind=change.kind, channel=change.channel, text=change.text, post_id=str(change.post_id)
            )
            for change in summary.changes
        ],
    )


def written_summary_response(
    written_summary: WrittenSummary, translate: Callable[[Reason], str]
) -> WrittenSummaryResponse:
    return WrittenSummaryResponse(
        sentences=[cited_sentence_response(sentence) for sentence in written_summary.sentences],
        provider=written_summary.provider,
        model=written_summary.model,
        unit=written_summary.unit,
        cost_micro=written_summary.cost_micro,
        replaced_count=written_summary.checks.replaced,
        rejected_reasons=[translate(reason) for reason in written_summary.checks.reasons],
    )
