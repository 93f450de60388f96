"""Tagging of posts, shared by the stage `tagging` and by `improving`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.gate_results import Material, Understood
from telegram_assistant.ai.local.tagging import LOCAL_MODEL
from telegram_assistant.ai.outputs import Tags
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.lane import NEWS
from telegram_assistant.domain.posts.links import addresses_of
from telegram_assistant.domain.posts.near_copies import content_of
from telegram_assistant.domain.posts.post import PostKind
from telegram_assistant.domain.understanding.policy import Tier, Urgency
from telegram_assistant.domain.understanding.vocabulary import language_for
from telegram_assistant.stores.postgres.posts.rows import StoredPost
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Enrichments, Kind
from telegram_assistant.stores.postgres.understanding.vocabularies import Proposal, Vocabularies

WITHOUT_PICTURES = {PostKind.TEXT, PostKind.POLL, PostKind.SERVICE}
PICTURE_FIELDS = ("description", "text")


@dataclass(frozen=True, slots=True)
class Tagger:
    """Tags posts and saves the results."""

    gate: Gate
    enrichments: Enrichments
    vocabularies: Vocabularies

    async def tag(
        self, stored_posts: Sequence[StoredPost], *, urgency: Urgency, pays_for_history: bool = False
    ) -> Mapping[PostId, Understood[Tags]]:
        """Tags and saves. The vision results known so far count as part of a post's text.

        So it does not matter how often and in which order a post is processed.
        """
        alive = [stored_post for stored_post in stored_posts if stored_post.deleted_at is None]
        if not alive:
            return {}
        picture_texts = await self._load_picture_texts(alive)
        since = datetime.now(UTC) - NEWS
        materials = [
            _material(
                stored_post,
                picture_texts.get(stored_post.post.id, {}),
                is_history=stored_post.post.posted_at < since and not pays_for_history,
            )
            for stored_post in alive
        ]
        understood_tags = await self.gate.tags(
            materials, vocabulary=await self.vocabularies.current(), urgency=urgency
        )
        rows = [
            row
            for stored_post, result in zip(alive, understood_tags, strict=True)
            for row in _rows(stored_post, result)
        ]
        await self.enrichments.save(rows)
        await self.vocabularies.propose(
            [
                proposal
                for material, result in zip(materials, understood_tags, strict=True)
                for proposal in _proposals(material, result)
            ]
        )
        return {
            stored_post.post.id: result for stored_post, result in zip(alive, understood_tags, strict=True)
        }

    async def _load_picture_texts(
        self, stored_posts: Sequence[StoredPost]
    ) -> Mapping[PostId, Mapping[Tier, str]]:
        revisions = {
            stored_post.post.id: stored_post.revision
            for stored_post in stored_posts
            if stored_post.post.kind not in WITHOUT_PICTURES
        }
        texts_by_post: dict[PostId, dict[Tier, str]] = {}
        for row in await self.enrichments.load(list(revisions), Kind.VISION) if revisions else ():
            if row.revision == revisions[row.post_id] and (text := picture_text_of(row)):
                texts_by_post.setdefault(row.post_id, {})[row.tier] = text
        return texts_by_post


def picture_text_of(row: Enrichment) -> str:
    """The text that pictures add to a post; empty if they add nothing."""
    return "\n".join(text for name in PICTURE_FIELDS if (text := str(row.data.get(name) or "").strip()))


def _material(stored_post: StoredPost, pictures: Mapping[Tier, str], *, is_history: bool) -> Material:
    post = stored_post.post
    return Material(
        post.text,
        post.channel_id,
        post.id,
        pictures,
        addresses_of(post),
        is_service=post.kind is PostKind.SERVICE,
        is_history=is_history,
    )


def _rows(stored_post: StoredPost, result: Understood[Tags]) -> list[Enrichment]:
    rows = []
    if result.local is not None:
        rows.append(_row(stored_post, Tier.LOCAL, result.local, "local", LOCAL_MODEL, result.prompt_version))
    if result.tier is Tier.PROVIDER and result.value is not None:
        rows.append(
            _row(
                stored_post, Tier.PROVIDER, result.value, result.provider, result.model, result.prompt_version
            )
        )
    return rows


def _row(
    stored_post: StoredPost, tier: Tier, tags: Tags, provider: str, model: str, prompt_version: str
) -> Enrichment:
    data = tags.model_dump(mode="json", exclude={"proposed", "channel_id"})
    return Enrichment(
        stored_post.post.id, stored_post.revision, Kind.TAGS, tier, data, provider, model, prompt_version
    )


def _proposals(material: Material, result: Understood[Tags]) -> list[Proposal]:
    tags = result.value
    if tags is None or not tags.proposed or tags.is_ad or result.is_cached:
        return []
    text = content_of(material.text)
    return [
        Proposal(language_for(material.text), tag, tags.topic or "society", material.channel_id, text)
        for tag in tags.proposed
    ]
