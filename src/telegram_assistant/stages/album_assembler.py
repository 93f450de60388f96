"""album_assembler: sum an album up once all its items were looked at. albums.parsed, posts.vision.analyzed -> album.assembled."""

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
    """Redis says when, PostgreSQL says what: in whatever order items, looks and late items come, the last of them sums up the same."""
    if event.grouped_id is None:
        return None
    channel_id, grouped_id = ChannelId(event.channel_id), event.grouped_id
    if isinstance(event, AlbumParsed):
        state = await album_states.note(channel_id, grouped_id, revision=event.revision, items=event.message_ids)
    else:
        state = await album_states.note(channel_id, grouped_id, looked_at=[event.post.message_id])
    if not state.is_rebuilt:
        state = await _rebuilt(channel_id, grouped_id, state, album_states, album_summaries)
    if not (state.is_complete or state.was_assembled or (isinstance(event, AlbumParsed) and event.is_overdue)):
        return None
    album = await album_summaries.assemble(channel_id, grouped_id, _in_sum)
    if album is None:
        return None
    await album_states.note(channel_id, grouped_id, assembled=album.revision)
    first = PostId(channel_id, MessageId(album.items[0]))
    return AlbumAssembled.about(
        first, album.revision, occurred_at=event.occurred_at, trace_id=trace_of(first, 1), grouped_id=grouped_id, message_ids=album.items
    )


async def _rebuilt(
    channel_id: ChannelId, grouped_id: int, state: AlbumState, album_states: AlbumStates, album_summaries: AlbumSummaries
) -> AlbumState:
    """What Redis does not know, because the album is new to it or because it has lost everything."""
    known = await album_summaries.load(channel_id, grouped_id)
    if known is None:
        return state
    revision = known.revision if known.is_closed else 0
    return await album_states.note(
        channel_id, grouped_id, revision=revision, items=known.items, looked_at=known.seen, assembled=known.assembled, is_rebuilt=True
    )


def _in_sum(album: KnownAlbum) -> Mapping[Tier, Mapping[str, Json]]:
    return summarize_album(album.items, album.seen)
