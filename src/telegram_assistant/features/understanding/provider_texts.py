"""Texts about posts that a provider writes, answers and summaries: what may be sent to it, what it costs,
and why it did not write.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from telegram_assistant.ai.prompting import addresses_model, number_passages
from telegram_assistant.ai.tenant_questions import WritingOffer
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.understanding.policy import FallbackReason
from telegram_assistant.language.citations import CitedPost
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores

MAX_SENT = 8
MAX_SENT_CHARACTERS = 1_200
"""Of a post. Eight of them, with a question, fit into one prompt."""
MAX_HEADING_CHARACTERS = 100
MAX_TITLE_CHARACTERS = 80
PATIENCE = 0.7
"""Of the time of a request; then it is answered without the provider's text."""

NOT_SENT = Reason("writing_not_sent", "the posts about this must not be sent to a provider")
NO_PROVIDER = Reason("writing_no_provider", "no provider is set up, or the owner has not consented to one")
NO_BUDGET = Reason(
    "writing_no_budget",
    "this month's budget does not cover it, so this shows the posts' own words",
)
UNSUPPORTED = Reason(
    "writing_unsupported",
    "your posts support nothing that the provider wrote, so this shows the posts' own words",
)
AWAY = Reason("writing_away", "the provider does not answer now, so this shows the posts' own words")
REFUSED = Reason("writing_refused", "the provider refuses this subject, so this shows the posts' own words")
UNUSABLE = Reason(
    "writing_unusable", "the provider's text could not be used, so this shows the posts' own words"
)
_FALLBACKS = {
    FallbackReason.NO_BUDGET: NO_BUDGET,
    FallbackReason.BLACKLIST: REFUSED,
    FallbackReason.FAILED: UNUSABLE,
}


class SourcePost(Protocol):
    """A post that may be sent to a provider."""

    @property
    def post_id(self) -> PostId: ...

    @property
    def channel(self) -> str: ...

    @property
    def posted_at(self) -> datetime: ...

    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class WritingPrice:
    """The maximum and the actual cost of a provider's text, in millionths of the unit."""

    provider: str
    model: str
    unit: str
    highest_micro: int
    spent_micro: int | None = None
    """None while it writes, and if it failed: then *AI and cost* shows what was billed."""


async def sendable_posts[T: SourcePost](posts: Sequence[T], *, stores: TenantStores) -> list[T]:
    """Those whose channels may be sent to a provider, without posts that speak to a model."""
    may = await stores.ai.sendable([post.post_id for post in posts])
    return [post for post in posts if post.post_id in may and not addresses_model(post.text)]


def passages_of(posts: Sequence[SourcePost]) -> str:
    """The posts under the numbers by which a provider cites them."""
    return number_passages(
        [(_heading(post), post.text) for post in posts], max_characters=MAX_SENT_CHARACTERS
    )


def _heading(post: SourcePost) -> str:
    """Channel and day; the day alone if the title, or the title and the text together, speak to a model:
    strangers choose titles, too.
    """
    title, day = post.channel[:MAX_TITLE_CHARACTERS], f"{post.posted_at:%Y-%m-%d}"
    heading = f"{title}, {day}"
    return day if addresses_model(title) or addresses_model(f"{heading}\n{post.text}") else heading


def cited_posts(posts: Sequence[SourcePost]) -> list[CitedPost]:
    """The posts as the citation checker compares them."""
    return [CitedPost(post.text, post.posted_at.date(), post.channel) for post in posts]


def price_of(offer: WritingOffer) -> WritingPrice:
    return WritingPrice(offer.provider, offer.model, offer.unit, offer.highest_micro)


def why_not_written(reason: FallbackReason | None) -> Reason:
    """Why a provider that was asked did not write.

    Whatever is not about the content or the money means that it is away.
    """
    return AWAY if reason is None else _FALLBACKS.get(reason, AWAY)
