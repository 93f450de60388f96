"""indexing: writes posts to the vector index. posts.enriched, album.assembled -> posts.indexed,
for every post.
"""

from telegram_assistant.events import AlbumAssembled, PostEnriched, PostIndexed
from telegram_assistant.stores.postgres.posts.post_states import PostStates, StateVersion
from telegram_assistant.streams.stage import stage
from telegram_assistant.vectors.index import VectorIndex

UNKNOWN = StateVersion(1, ())


@stage(
    consumes=(PostEnriched, AlbumAssembled), emits=PostIndexed, batch=100, concurrency=2, timeout_seconds=120
)
async def indexing(
    events: list[PostEnriched | AlbumAssembled], *, post_states: PostStates, index: VectorIndex | None
) -> list[PostIndexed]:
    """Indexes the current state of each post, not the state at the time of the event.

    Without vectors, posts pass: search by words finds them.
    """
    post_ids = list({event.post for event in events})
    versions = await post_states.versions(post_ids) if index is None else await index.write(post_ids)
    return [
        PostIndexed.about(
            event.post,
            event.revision,
            occurred_at=event.occurred_at,
            state_version=versions.get(event.post, UNKNOWN).state,
        )
        for event in events
    ]
