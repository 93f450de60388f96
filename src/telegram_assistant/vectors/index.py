"""Keeps the vector store in sync with PostgreSQL: the last writer leaves the newest state,
in whatever order events arrive.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from telegram_assistant.ai.gate import Gate
from telegram_assistant.ai.tenant_questions import TenantQuestions
from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.understanding.embedding_text import facts_of, text_of
from telegram_assistant.domain.understanding.policy import FallbackReason, Urgency
from telegram_assistant.errors import Busy
from telegram_assistant.stores.postgres.posts.post_states import PostState, PostStates, StateVersion
from telegram_assistant.telemetry.outages import OutageLog
from telegram_assistant.vectors.protocol import Hit, Point, Searchable, Space, VectorQuery, Vectors


class MeaningSearch:
    """Semantic search. It writes nothing."""

    def __init__(self, searchable: Searchable, *, questions: TenantQuestions) -> None:
        self._searchable = searchable
        self._questions = questions
        self._outage = OutageLog("search by meaning")

    async def nearest(
        self, question: str, query: VectorQuery, *, tenant_id: TenantId
    ) -> tuple[Hit, ...] | FallbackReason:
        """The posts nearest to a tenant's question, at the tenant's cost; or why the question has no vector.

        The vector is computed by the model that computed those of the posts.
        """
        result = await self._questions.vectors([question], tenant_id=tenant_id)
        if result.value is None:
            return result.reason or FallbackReason.FAILED
        vector = result.value[0]
        try:
            hits = await self._searchable.search(
                Space(result.model, len(vector)), replace(query, vector=vector)
            )
        except Busy as busy:
            self._outage.log_failure(busy)
            raise
        self._outage.log_recovery()
        return hits


class VectorIndex:
    """Writes posts to the vector store. One per process."""

    def __init__(self, vectors: Vectors, *, gate: Gate, states: PostStates) -> None:
        self.vectors = vectors
        self._gate = gate
        self._states = states

    async def write(
        self, post_ids: Collection[PostId], *, into: str | None = None, urgency: Urgency = Urgency.LIVE
    ) -> Mapping[PostId, StateVersion]:
        """Updates these posts, in `into` or in every collection; returns the version that each was left in.

        It loads, writes and checks again: posts that changed meanwhile are written again, and so are all
        posts if a new collection has appeared. So neither a rebuild that begins now nor another writer with
        an older reading leaves old data behind. A post that is deleted or has no vector has no point.
        """
        written_versions: dict[PostId, StateVersion] = {}
        pending = list(dict.fromkeys(post_ids))
        while pending:
            before = await self._collections(into)
            states = await self._states.load(pending)
            before |= await self._write(pending, states, before, into=into, urgency=urgency)
            versions = await self._states.versions(pending)
            written_versions |= versions
            has_appeared = bool(await self._collections(into) - before)
            pending = [
                post_id
                for post_id in pending
                if has_appeared
                or versions.get(post_id) != (states[post_id].version if post_id in states else None)
            ]
        return written_versions

    async def _create_first(self, space: Space) -> str:
        """Creates a collection for the first vectors of a model, visible to searches at once."""
        collection = space.collection(1)
        await self.vectors.create(space, collection)
        await self.vectors.switch(space, collection)
        return collection

    async def _collections(self, into: str | None) -> set[str]:
        return {into} if into is not None else set(await self.vectors.collections())

    async def _write(
        self,
        post_ids: Sequence[PostId],
        states: Mapping[PostId, PostState],
        collections: set[str],
        *,
        into: str | None,
        urgency: Urgency,
    ) -> set[str]:
        """Writes the posts; returns the collections that it wrote to."""
        visible = {post_id: state for post_id, state in states.items() if state.is_shown}
        texts = {
            post_id: text
            for post_id, state in visible.items()
            if (text := text_of(state.stored.post, state.facts))
        }
        post_vectors = await self._gate.post_vectors(texts, urgency=urgency) if texts else None
        points = [
            Point(post_id, vector, facts_of(visible[post_id].stored.post, visible[post_id].facts))
            for post_id, vector in (post_vectors.vectors.items() if post_vectors else ())
        ]
        if post_vectors and points:
            space = Space(post_vectors.model, len(points[0].vector))
            fitting = {collection for collection in collections if space.holds(collection)}
            if not fitting and into is None:
                fitting = {await self._create_first(space)}
            for collection in fitting:
                await self.vectors.upsert(collection, points)
            collections = collections | fitting
        without = list(set(post_ids) - {point.post_id for point in points})
        if without:
            for collection in collections:
                await self.vectors.delete(collection, without)
        return collections
