"""Lets a provider sum up stories from posts that a tenant sees, and keeps those of its sentences that the
posts support.

    material -> kept under its hash already?  -> that text, which costs nothing
             -> offer, budget, provider, citation checker -> kept

Nothing here is needed to show a story: without a text its summary stands in the posts' own words.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from telegram_assistant.ai.gate_results import key_of
from telegram_assistant.ai.prompting import prompt
from telegram_assistant.ai.tenant_questions import TenantQuestions, WritingOffer
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.posts.near_copies import content_of
from telegram_assistant.domain.stories.visible import VisiblePost, VisibleStory
from telegram_assistant.domain.understanding.policy import Urgency
from telegram_assistant.errors import Busy
from telegram_assistant.features.understanding.provider_texts import (
    AWAY,
    MAX_SENT,
    MAX_SENT_CHARACTERS,
    NO_PROVIDER,
    NOT_SENT,
    UNSUPPORTED,
    cited_posts,
    passages_of,
    sendable_posts,
    why_not_written,
)
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.summaries.cleaning import language_in
from telegram_assistant.summaries.values import CitedSentence, StorySummary, WrittenSummary
from telegram_assistant.summaries.written_sentences import WrittenText

PROMPT = "summary"
MAX_TOKENS = 500
MAX_CONSIDERED = 60
"""Posts of a story of which it is asked whether they may be sent; the oldest and the newest half."""


@dataclass(frozen=True, slots=True)
class SummaryMaterial:
    """The posts from which a story would be summed up, all of them sendable and in one language,
    the oldest first.
    """

    language: str
    posts: tuple[VisiblePost, ...]

    @property
    def key(self) -> bytes:
        """Changes with every post, every edit, the language and the prompt.

        Text that is not sent does not change it.
        """
        parts = (part for post in self.posts for part in (str(post.post_id), post.text[:MAX_SENT_CHARACTERS]))
        return key_of(prompt(PROMPT).label, self.language, *parts)

    @property
    def data(self) -> str:
        return f"PASSAGES\n\n{passages_of(self.posts)}"


@dataclass(frozen=True, slots=True)
class SummaryWriting:
    """The result of asking for a summary: the summary, or the reason why none is shown."""

    written: WrittenSummary | None
    fallback: Reason | None = None


@dataclass(frozen=True, slots=True)
class SummaryWriter:
    """The providers that write, and the tenant that pays them."""

    questions: TenantQuestions
    tenant_id: TenantId


async def load_materials(
    stories: Sequence[tuple[VisibleStory, StorySummary]], *, stores: TenantStores
) -> list[SummaryMaterial]:
    """The posts of each story that a provider may read, in the language of its summary. One query for all."""
    considered_summaries = [_in_language(story, summary.language) for story, summary in stories]
    sendable = {
        sendable_post.post_id
        for sendable_post in await sendable_posts(
            [post for posts in considered_summaries for post in posts], stores=stores
        )
    }
    return [
        SummaryMaterial(summary.language, _choose_posts([post for post in posts if post.post_id in sendable]))
        for (_, summary), posts in zip(stories, considered_summaries, strict=True)
    ]


async def offer_summary(material: SummaryMaterial | None, *, writer: SummaryWriter) -> WritingOffer | None:
    """The provider that would write, and the most that it may cost.

    None if no provider may, or there is nothing to send.
    """
    if material is None or not material.posts:
        return None
    character_count = len(prompt(PROMPT).text) + len(material.data)
    return await writer.questions.offer(character_count, max_tokens=MAX_TOKENS, tenant_id=writer.tenant_id)


async def load_known_summaries(
    materials: Sequence[SummaryMaterial], *, stores: TenantStores
) -> Mapping[bytes, WrittenSummary]:
    """The summaries that were written from these materials before."""
    keys = [material.key for material in materials if material.posts]
    return await stores.written_summaries.find(keys) if keys else {}


async def write_summaries(
    materials: Sequence[SummaryMaterial],
    *,
    writer: SummaryWriter,
    stores: TenantStores,
    patience_seconds: float,
) -> Mapping[bytes, WrittenSummary]:
    """The summaries of these materials, written before or now.

    A summary that takes longer than `patience_seconds` is left out.
    """
    known_summaries = await load_known_summaries(materials, stores=stores)
    missing_materials = (
        [material for material in materials if material.posts and material.key not in known_summaries]
        if writer.questions.has_writers
        else []
    )
    new_summaries = await asyncio.gather(
        *(
            _write(
                material,
                writer=writer,
                stores=stores,
                urgency=Urgency.DIGEST,
                patience_seconds=patience_seconds,
            )
            for material in missing_materials
        )
    )
    return {
        **known_summaries,
        **{
            material.key: writing.written
            for material, writing in zip(missing_materials, new_summaries, strict=True)
            if writing.written is not None
        },
    }


async def write_summary(
    material: SummaryMaterial | None, *, writer: SummaryWriter, stores: TenantStores, patience_seconds: float
) -> SummaryWriting:
    """The summary of this material, written before or now.

    A call that takes longer than `patience_seconds` goes on, and a later request finds its result.
    """
    if material is None or not material.posts:
        return SummaryWriting(None, NOT_SENT)
    if (
        known_summary := (await load_known_summaries([material], stores=stores)).get(material.key)
    ) is not None:
        return _writing(known_summary)
    return await _write(
        material, writer=writer, stores=stores, urgency=Urgency.QUESTION, patience_seconds=patience_seconds
    )


async def _write(
    material: SummaryMaterial,
    *,
    writer: SummaryWriter,
    stores: TenantStores,
    urgency: Urgency,
    patience_seconds: float,
) -> SummaryWriting:
    offer = await offer_summary(material, writer=writer)
    if offer is None:
        return SummaryWriting(None, NO_PROVIDER)
    try:
        async with asyncio.timeout(patience_seconds):
            understood = await writer.questions.write(
                prompt(PROMPT),
                material.data,
                tenant_id=writer.tenant_id,
                urgency=urgency,
                max_tokens=MAX_TOKENS,
            )
    except (TimeoutError, Busy):
        return SummaryWriting(None, AWAY)
    if understood.value is None:
        return SummaryWriting(None, why_not_written(understood.reason))
    text = WrittenText(cited_posts(material.posts))
    await asyncio.to_thread(list, text.end(understood.value.text))
    written_summary = WrittenSummary(
        sentences=tuple(
            CitedSentence(
                sentence.text, tuple(material.posts[post_index].post_id for post_index in sentence.posts)
            )
            for sentence in text.sentences
        ),
        provider=understood.provider,
        model=understood.model,
        unit=offer.unit,
        cost_micro=understood.cost_micro,
        checks=text.checks,
    )
    await stores.written_summaries.keep(material.key, written_summary)
    return _writing(written_summary)


def _writing(written_summary: WrittenSummary) -> SummaryWriting:
    return SummaryWriting(written_summary, None if written_summary.sentences else UNSUPPORTED)


def _in_language(story: VisibleStory, language: str) -> list[VisiblePost]:
    posts = [post for post in story.posts if not post.deleted_at and not post.is_ad and post.text.strip()]
    posts_in_language = [post for post in posts if language_in(post.text, post.language) == language]
    return _ends_of(posts_in_language, MAX_CONSIDERED)


def _choose_posts(posts: Sequence[VisiblePost]) -> tuple[VisiblePost, ...]:
    """One post for each different text, of each channel the first and the last:
    nobody fills the prompt alone, and nobody's last word is missing.
    """
    distinct_posts: dict[bytes, VisiblePost] = {}
    for post in posts:
        distinct_posts.setdefault(content_of(post.text), post)
    channels: dict[ChannelId, list[VisiblePost]] = {}
    for post in distinct_posts.values():
        channels.setdefault(post.channel_id, []).append(post)
    chosen_ids = {
        post.post_id for channel_posts in channels.values() for post in (channel_posts[0], channel_posts[-1])
    }
    return tuple(_ends_of([post for post in distinct_posts.values() if post.post_id in chosen_ids], MAX_SENT))


def _ends_of(posts: list[VisiblePost], max_posts: int) -> list[VisiblePost]:
    """The oldest and the newest half."""
    return (
        posts
        if len(posts) <= max_posts
        else [*posts[: max_posts // 2], *posts[-(max_posts - max_posts // 2) :]]
    )
