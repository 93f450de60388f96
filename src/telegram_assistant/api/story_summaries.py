"""The summary of a story in responses."""

from collections.abc import Callable

from pydantic import Field

from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.reasons import Reason
from telegram_assistant.summaries.values import (
    ChangeSort,
    CitedSentence,
    NumberClaim,
    StorySummary,
    WrittenSummary,
)


class CitedSentenceResponse(ResponseModel):
    """A sentence, and the ids of the posts that say it."""

    text: str
    post_ids: list[str]


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
    """What one channel alone adds."""

    channel: str
    sentence: CitedSentenceResponse


class CorrectionResponse(ResponseModel):
    """A correction, an update, a denial, or a post that was deleted."""

    kind: ChangeSort
    channel: str
    text: str
    post_id: str


class StorySummaryResponse(ResponseModel):
    """The story in sentences of its own posts, in one language.

    `established`: what happened, then what at least two channels say.
    """

    language: str
    established: list[CitedSentenceResponse]
    disputed: list[DisputeResponse]
    added: list[AdditionResponse]
    corrections: list[CorrectionResponse]


class WrittenSummaryResponse(ResponseModel):
    """What a provider wrote about the story, each sentence compared with the posts that it cites.

    `cost_micro` is in millionths of `unit`.
    """

    sentences: list[CitedSentenceResponse] = Field(description="Empty if the posts support nothing of it.")
    provider: str
    model: str
    unit: str
    cost_micro: int
    replaced: int = Field(
        description="Doubtful sentences of the provider, shown as the sentence of the post."
    )
    left_out: list[str] = Field(description="Why sentences of the provider are not shown, one reason each.")


WRITTEN_EXAMPLE = {
    "sentences": [
        {"text": "The bridge is closed to trucks until April.", "post_ids": ["1234567890/42", "1234567891/7"]}
    ],
    "provider": "gigachat",
    "model": "GigaChat-2",
    "unit": "RUB",
    "cost_micro": 84100,
    "replaced": 0,
    "left_out": ["a number that no cited post has"],
}
SUMMARY_EXAMPLE = {
    "language": "en",
    "established": [
        {"text": "The bridge is closed to trucks until April.", "post_ids": ["1234567890/42", "1234567891/7"]}
    ],
    "disputed": [],
    "added": [
        {
            "channel": "Roads today",
            "sentence": {"text": "The detour is 12 km longer.", "post_ids": ["1234567891/7"]},
        }
    ],
    "corrections": [],
}


def cited_response(sentence: CitedSentence) -> CitedSentenceResponse:
    return CitedSentenceResponse(text=sentence.text, post_ids=[str(post_id) for post_id in sentence.posts])


def _claim(claim: NumberClaim) -> ClaimResponse:
    return ClaimResponse(number=claim.number, post_ids=[str(post_id) for post_id in claim.posts])


def summary_response(summary: StorySummary) -> StorySummaryResponse:
    return StorySummaryResponse(
        language=summary.language,
        established=[cited_response(sentence) for sentence in summary.known],
        disputed=[
            DisputeResponse(
                sentence=cited_response(dispute.sentence),
                stands=_claim(dispute.stands),
                others=[_claim(other) for other in dispute.others],
            )
            for dispute in summary.disputed
        ],
        added=[
            AdditionResponse(channel=addition.channel, sentence=cited_response(addition.sentence))
            for addition in summary.added
        ],
        corrections=[
            CorrectionResponse(
                kind=change.kind, channel=change.channel, text=change.text, post_id=str(change.post_id)
            )
            for change in summary.changes
        ],
    )


def written_response(written: WrittenSummary, say: Callable[[Reason], str]) -> WrittenSummaryResponse:
    return WrittenSummaryResponse(
        sentences=[cited_response(sentence) for sentence in written.sentences],
        provider=written.provider,
        model=written.model,
        unit=written.unit,
        cost_micro=written.cost_micro,
        replaced=written.checks.replaced,
        left_out=[say(reason) for reason in written.checks.reasons],
    )
