"""Keeps the graph in sync with PostgreSQL: the last writer leaves the newest state,
in whatever order events arrive.
"""

import time
from collections.abc import Callable, Collection
from datetime import datetime

from telegram_assistant.domain.graph.graph_facts import Contribution, contribution_of, oldest_day
from telegram_assistant.domain.ids import PostId
from telegram_assistant.errors import Busy
from telegram_assistant.graph.store import Graph
from telegram_assistant.stores.postgres.posts.post_states import PostState, PostStates


class GraphIndex:
    """One per process."""

    def __init__(
        self, graph: Graph, *, states: PostStates, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.graph = graph
        self._states = states
        self._clock = clock
        self._away_since: float | None = None

    def away_seconds(self) -> float:
        """For how long writes to the graph have failed; 0 while they succeed."""
        return 0.0 if self._away_since is None else self._clock() - self._away_since

    async def write(self, post_ids: Collection[PostId], *, now: datetime, into: int | None = None) -> None:
        """Updates these posts, in one generation or in all. It loads, writes and checks again: posts that
        changed meanwhile are written again.

        Posts older than the graph keeps are skipped; the cleanup has removed them, or will.
        """
        oldest = oldest_day(now)
        pending = list(dict.fromkeys(post_ids))
        while pending:
            states = await self._states.load(pending)
            contributions = [
                contribution
                for state in states.values()
                if (contribution := _contribution(state)).day >= oldest
            ]
            await self._put(contributions, [post_id for post_id in pending if post_id not in states], into)
            versions = await self._states.versions(pending)
            pending = [
                post_id
                for post_id in pending
                if versions.get(post_id) != (states[post_id].version if post_id in states else None)
            ]

    async def _put(
        self, contributions: list[Contribution], deleted_ids: list[PostId], into: int | None
    ) -> None:
        try:
            await self.graph.write(contributions, deleted_ids, into=into)
        except Busy:
            self._away_since = self._clock() if self._away_since is None else self._away_since
            raise
        self._away_since = None


def _contribution(state: PostState) -> Contribution:
    post = state.stored.post
    return contribution_of(post, state.facts) if state.is_shown else Contribution(post.id, post.posted_at)
