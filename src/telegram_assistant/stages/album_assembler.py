"""album_assembler: summarizes an album once all its items are analysed. albums.parsed,
posts.vision.analyzed -> album.assembled.
"""

from collections.abc import Mapping

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.media.vision_results import summarize_album
from telegram_assistant.domain.posts.post import Json
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.events import AlbumAssembled, AlbumParsed, PostVisionAnalyzed
from telegram_assistant.events.envelope import trace_of
from telegram_assistant.stores.postgres.posts.album_summaries import AlbumSummaries, KnownAlbum
from telegram_assistant.stores.redis.album_states import AlbumState, AlbumStates
from telegram_assistant.streams.stage import stage


@stage(consumes=(AlbumParsed, PostVisionAnalyzed), emits=AlbumAssembled, concurrency=8, timeout_seconds=60)
async def album_assembler(
    event: AlbumParsed | PostVisionAnalyzed, *, album_states: AlbumStates, album_summaries: AlbumSummaries
) -> AlbumAssembled | None:
    """Redis tracks which items are complete, PostgreSQL holds their data,
    so the summary is the same in whatever order events and late items come.
    """
    if event.grouped_id is None:
        return None
    channel_id, grouped_id = ChannelId(event.channel_id), event.grouped_id
    if isinstance(event, AlbumParsed):
        state = await album_states.note(
            channel_id, grouped_id, revision=event.revision, items=event.message_ids
        )
    else:
        state = await album_states.note(channel_id, grouped_id, looked_at=[event.post.message_id])
    if not state.is_rebuilt:
        state = await _rebuild_state(channel_id, grouped_id, state, album_states, album_summaries)
    if not (
        state.is_complete or state.was_assembled or (isinstance(event, AlbumParsed) and event.is_overdue)
    ):
        return None
    album = await album_summaries.assemble(channel_id, grouped_id, _summarize)
    if album is None:
        return None
    await album_states.note(channel_id, grouped_id, assembled_revision=album.revision)
    first_post_id = PostId(channel_id, MessageId(album.items[0]))
    return AlbumAssembled.about(
        first_post_id,
        album.revision,
        occurred_at=event.occurred_at,
        trace_id=trace_of(first_post_id, 1),
        grouped_id=grouped_id,
        message_ids=album.items,
    )


async def _rebuild_state(
    channel_id: ChannelId,
    grouped_id: int,
    state: AlbumState,
    album_states: AlbumStates,
    album_summaries: AlbumSummaries,
) -> AlbumState:
    """Loads from PostgreSQL what Redis does not know, because the album is new or Redis has lost its data."""
    summary = await album_summaries.load(channel_id, grouped_id)
    if summary is None:
        return state
    revision = summary.revision if summary.is_closed else 0
    return await album_states.note(
        channel_id,
        grouped_id,
        revision=revision,
        items=summary.items,
        looked_at=summary.seen,
        assembled_revision=summary.assembled_revision,
        is_rebuilt=True,
    )


def _summarize(album: KnownAlbum) -> Mapping[Tier, Mapping[str, Json]]:
    return summarize_album(album.items, album.seen)
