"""Events as they lie on the streams: what was written by any release must be read by every later one."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.lane import Lane
from telegram_assistant.events import EVENTS, Event, PostParsed, PostTagged
from telegram_assistant.streams.keys import stream_key

GOLDEN = Path(__file__).parent / "golden"
POST = PostId(ChannelId(1234567890), MessageId(42))
MOMENT = datetime(2026, 11, 15, 8, 30, 1, 250_000, tzinfo=UTC)
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

STREAMS = {
    "posts.parsed": "stream:posts:parsed",
    "posts.vision.uploaded": "stream:posts:vision:uploaded",
    "albums.parsed": "stream:albums:parsed",
    "posts.vision.analyzed": "stream:posts:vision:analyzed",
    "posts.tagged": "stream:posts:tagged",
    "posts.crawl": "stream:posts:crawl",
    "posts.enriched": "stream:posts:enriched",
    "posts.indexed": "stream:posts:indexed",
    "album.assembled": "stream:album:assembled",
}
"""Names that others build on; those of later events follow the same rule."""

every_event = pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.NAME)


def golden_of(kind: type[Event]) -> dict[str, Any]:
    file = GOLDEN / f"{kind.NAME}.v{kind.VERSION}.json"
    if not file.exists():
        written = kind.about(POST, 2, occurred_at=MOMENT, trace_id=TRACE).model_dump_json(indent=2)
        pytest.fail(
            f"{file.name} is missing. It may look like this, with examples of the event's facts:\n{written}"
        )
    read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return read


def example(kind: type[Event]) -> Event:
    """With the facts of the golden file: what the event carries beside the envelope."""
    facts = {name: value for name, value in golden_of(kind).items() if name not in Event.model_fields}
    return kind.about(POST, 2, occurred_at=MOMENT, trace_id=TRACE, **facts)


@every_event
def test_an_event_is_written_as_the_golden_file_of_its_version_says(kind: type[Event]) -> None:
    assert json.loads(example(kind).model_dump_json()) == golden_of(kind)


@pytest.mark.parametrize("golden", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_every_version_that_was_ever_written_is_still_understood(golden: Path) -> None:
    kind = next(kind for kind in EVENTS if golden.name.startswith(f"{kind.NAME}.v"))
    understood = kind.model_validate_json(golden.read_bytes())
    assert (understood.post, understood.revision, understood.occurred_at) == (POST, 2, MOMENT)


@every_event
def test_fields_of_a_newer_release_survive_a_round_trip(kind: type[Event]) -> None:
    newer = {**json.loads(example(kind).model_dump_json()), "mood": "calm", "schema_version": 9}
    assert json.loads(kind.model_validate(newer).model_dump_json()) == newer


@every_event
def test_events_travel_on_the_streams_of_the_contract(kind: type[Event]) -> None:
    key = STREAMS.get(kind.NAME, f"stream:{kind.NAME.replace('.', ':')}")
    assert stream_key(kind, Lane.LIVE) == key
    assert stream_key(kind, Lane.BULK) == f"{key}:bulk"
    assert stream_key(kind, Lane.BULK, 3, partitions=8) == f"{key}:bulk:{{3}}"


def test_the_same_fact_has_the_same_id_and_another_fact_another() -> None:
    first = PostParsed.about(POST, 1, occurred_at=MOMENT)
    again = PostParsed.about(POST, 1, occurred_at=datetime(2026, 11, 16, tzinfo=UTC))
    others = [
        PostParsed.about(POST, 2, occurred_at=MOMENT),
        PostParsed.about(PostId(ChannelId(1), MessageId(42)), 1, occurred_at=MOMENT),
        PostTagged.about(POST, 1, occurred_at=MOMENT, trigger="initial"),
        PostTagged.about(POST, 1, occurred_at=MOMENT, trigger="vision_retag"),
    ]
    assert first.event_id == again.event_id
    assert len({first.event_id, *(other.event_id for other in others)}) == 5


def test_an_event_with_a_misspelt_fact_is_refused_when_it_is_made() -> None:
    with pytest.raises(TypeError, match="PostTagged has no tagz"):
        PostTagged.about(PostId(ChannelId(1), MessageId(1)), 1, occurred_at=MOMENT, tagz=("weather",))


def test_an_event_cannot_be_changed_nor_hold_nonsense() -> None:
    event = example(PostParsed)
    with pytest.raises(ValidationError):
        event.revision = 3
    with pytest.raises(ValidationError):
        PostParsed.model_validate_json(b'{"post_id": 5}')
