"""Translation of the media of messages."""

from datetime import UTC, datetime
from typing import Any

import pytest
from telethon.tl import types

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.post import Json, Post, PostKind, fingerprint
from telegram_assistant.telegram.translation.translate import post_of
from tests.telegram.schema import make_message

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
LARGE = 2**62 + 1


def translate_media(media: Any, **more: Any) -> Post:
    post = post_of(ChannelId(7), make_message(message="Текст", media=media, **more))
    assert post is not None
    assert post.text == "Текст"
    return post


def photo(*sizes: Any) -> Any:
    return types.Photo(LARGE, 5, b"reference", NOON, list(sizes), 2)


def document(*attributes: Any, mime: str = "") -> Any:
    return types.Document(LARGE, 5, b"reference", NOON, mime, 3 * 2**30, 2, list(attributes))


FILE: dict[str, Json] = {"id": LARGE, "dc_id": 2, "size_bytes": 3 * 2**30}
VIDEO = types.DocumentAttributeVideo(2.5, 640, 360)
MEASURES: dict[str, Json] = {"width": 640, "height": 360, "duration_seconds": 2.5}
STICKER = types.DocumentAttributeSticker("🔥", types.InputStickerSetID(LARGE, 5))
SQUARE = types.DocumentAttributeImageSize(512, 512)


@pytest.mark.parametrize(
    ("attributes", "mime", "kind", "details"),
    [
        (
            [types.DocumentAttributeFilename("план\x00.pdf")],
            "application/pdf",
            "document",
            {"file_name": "план\ufffd.pdf"},
        ),
        (
            [types.DocumentAttributeImageSize(640, 360)],
            "image/png",
            "document",
            {"width": 640, "height": 360},
        ),
        ([VIDEO], "video/mp4", "video", MEASURES),
        ([types.DocumentAttributeVideo(2.5, 640, 360, round_message=True)], "video/mp4", "round", MEASURES),
        ([VIDEO, types.DocumentAttributeAnimated()], "video/mp4", "animation", MEASURES),
        ([types.DocumentAttributeAnimated()], "image/gif", "animation", {}),
        (
            [types.DocumentAttributeVideo(float("nan"), 640, 360)],
            "video/mp4",
            "video",
            {"width": 640, "height": 360},
        ),
        (
            [types.DocumentAttributeAudio(180, title="Песня", performer="Хор")],
            "audio/mpeg",
            "audio",
            {"duration_seconds": 180, "title": "Песня", "performer": "Хор"},
        ),
        (
            [types.DocumentAttributeAudio(9, voice=True, waveform=b"wave")],
            "audio/ogg",
            "voice",
            {"duration_seconds": 9},
        ),
        (
            [SQUARE, STICKER],
            "image/webp",
            "sticker",
            {"emoji": "🔥", "sticker_set_id": LARGE, "width": 512, "height": 512},
        ),
        ([VIDEO, STICKER], "video/webm", "sticker", {"emoji": "🔥", "sticker_set_id": LARGE, **MEASURES}),
    ],
)
def test_a_file_says_what_it_is(
    attributes: list[Any], mime: str, kind: str, details: dict[str, Json]
) -> None:
    post = translate_media(types.MessageMediaDocument(document=document(*attributes, mime=mime)))
    assert post.kind == {"round": "video", "animation": "video"}.get(kind, kind)
    assert post.facts == {"media": {"kind": kind, **FILE, "mime_type": mime, **details}}


def test_a_photo_has_the_measures_of_its_largest_size() -> None:
    sizes = (
        types.PhotoStrippedSize("i", b"x"),
        types.PhotoSizeProgressive("y", 1280, 720, [1000, 90_000]),
        types.PhotoSize("x", 800, 450, 50_000),
        types.PhotoCachedSize("s", 90, 50, b"tiny"),
    )
    post = translate_media(types.MessageMediaPhoto(photo=photo(*sizes)))
    measures = {"width": 1280, "height": 720, "size_bytes": 90_000}
    assert (post.kind, post.facts) == (
        PostKind.PHOTO,
        {"media": {"kind": "photo", "id": LARGE, "dc_id": 2, **measures}},
    )


@pytest.mark.parametrize(
    ("media", "kind", "details"),
    [
        (types.MessageMediaPhoto(ttl_seconds=5), "photo", {"kind": "photo", "ttl_seconds": 5}),
        (
            types.MessageMediaPhoto(photo=types.PhotoEmpty(3), spoiler=True),
            "photo",
            {"kind": "photo", "id": 3, "spoiler": True},
        ),
        (types.MessageMediaDocument(voice=True, ttl_seconds=5), "voice", {"kind": "voice", "ttl_seconds": 5}),
        (types.MessageMediaDocument(round=True, video=True), "video", {"kind": "round"}),
        (
            types.MessageMediaDocument(document=types.DocumentEmpty(3), spoiler=True),
            "document",
            {"kind": "document", "id": 3, "spoiler": True},
        ),
    ],
)
def test_of_a_file_that_is_gone_or_hidden_the_rest_is_known(media: Any, kind: str, details: Json) -> None:
    post = translate_media(media)
    assert (post.kind, post.facts) == (kind, {"media": details})


def words(text: str) -> Any:
    return types.TextWithEntities(text, [])


def test_a_poll_has_its_question_its_answers_and_the_votes_that_are_known() -> None:
    answers = [types.PollAnswer(words("да"), b"0"), types.PollAnswer(words("нет"), b"1")]
    poll = types.Poll(LARGE, words("Снег?"), answers, 0)
    question = {"id": LARGE, "question": "Снег?"}
    post = translate_media(types.MessageMediaPoll(poll, types.PollResults()))
    assert (post.kind, post.facts) == (
        PostKind.POLL,
        {"poll": {**question, "answers": [{"text": "да"}, {"text": "нет"}]}},
    )

    poll.quiz, poll.closed, poll.close_date = True, True, NOON
    votes = [types.PollAnswerVoters(b"1", correct=True, voters=9), types.PollAnswerVoters(b"0", voters=0)]
    results = types.PollResults(results=votes, total_voters=9, solution="Ноябрь")
    attached = types.MessageMediaPhoto(photo=types.PhotoEmpty(3))
    assert translate_media(types.MessageMediaPoll(poll, results, attached)).facts == {
        "media": {"kind": "photo", "id": 3},
        "poll": {
            **question,
            "answers": [{"text": "да", "voters": 0}, {"text": "нет", "voters": 9, "correct": True}],
            "quiz": True,
            "closed": True,
            "close_date": NOON.isoformat(),
            "total_voters": 9,
            "solution": "Ноябрь",
        },
    }


PAGE = types.WebPage(
    LARGE,
    "https://a.example/x",
    "a.example/x",
    0,
    type="article",
    site_name="A",
    title="Т\x00",
    description="О чём",
    photo=photo(),
)


@pytest.mark.parametrize(
    ("page", "details"),
    [
        (
            PAGE,
            {
                "url": "https://a.example/x",
                "type": "article",
                "site_name": "A",
                "title": "Т\ufffd",
                "description": "О чём",
                "photo": {"id": LARGE, "dc_id": 2},
            },
        ),
        (
            types.WebPagePending(LARGE, NOON, url="https://a.example/x"),
            {"pending": True, "url": "https://a.example/x"},
        ),
        (types.WebPageEmpty(LARGE), {}),
        (types.WebPageNotModified(), {}),
    ],
)
def test_a_preview_leaves_its_post_a_text(page: Any, details: dict[str, Json]) -> None:
    post = translate_media(types.MessageMediaWebPage(page))
    assert (post.kind, post.facts) == (PostKind.TEXT, {"media": {"kind": "web_page", **details}})


POINT = types.GeoPoint(37.6, 55.7, LARGE, accuracy_radius=10)
HERE: dict[str, Json] = {"lat": 55.7, "long": 37.6, "accuracy_radius": 10}
GAME = types.Game(LARGE, 5, "chess", "Шахматы", "Мат", types.PhotoEmpty(3))
TODO = types.TodoList(words("Дела"), [types.TodoItem(1, words("Хлеб"))])
PREVIEW = types.MessageExtendedMediaPreview(w=640, h=360)


@pytest.mark.parametrize(
    ("media", "details"),
    [
        (types.MessageMediaGeo(POINT), {"kind": "geo", "geo": HERE}),
        (types.MessageMediaGeo(types.GeoPoint(float("inf"), 55.7, 5)), {"kind": "geo", "geo": {"lat": 55.7}}),
        (types.MessageMediaGeo(types.GeoPointEmpty()), {"kind": "geo"}),
        (
            types.MessageMediaGeoLive(POINT, 900, heading=90),
            {"kind": "live_geo", "geo": HERE, "period": 900, "heading": 90},
        ),
        (
            types.MessageMediaVenue(POINT, "Театр", "Садовая", "foursquare", "", "arts"),
            {
                "kind": "venue",
                "geo": HERE,
                "title": "Театр",
                "address": "Садовая",
                "provider": "foursquare",
                "venue_type": "arts",
            },
        ),
        (
            types.MessageMediaContact("+7000", "Ann", "", "BEGIN:VCARD", LARGE),
            {"kind": "contact", "phone_number": "+7000", "first_name": "Ann", "user_id": LARGE},
        ),
        (
            types.MessageMediaGame(GAME),
            {
                "kind": "game",
                "game": {"id": LARGE, "short_name": "chess", "title": "Шахматы", "description": "Мат"},
            },
        ),
        (
            types.MessageMediaInvoice(
                "a thing",
                "of value",
                "USD",
                100,
                "",
                photo=types.WebDocument("https://a.example/x.png", 1, 2, "image/png", []),
            ),
            {
                "kind": "invoice",
                "title": "a thing",
                "description": "of value",
                "currency": "USD",
                "total_amount": 100,
                "photo": {"url": "https://a.example/x.png", "mime_type": "image/png", "size": 2},
            },
        ),
        (types.MessageMediaDice(6, "🎲"), {"kind": "dice", "value": 6, "emoticon": "🎲"}),
        (
            types.MessageMediaStory(types.PeerChannel(9), 3),
            {"kind": "story", "peer": {"channel_id": 9}, "id": 3},
        ),
        (
            types.MessageMediaGiveaway([1, 2], 5, NOON, months=3, countries_iso2=["DE"]),
            {
                "kind": "giveaway",
                "channels": [1, 2],
                "quantity": 5,
                "until_date": NOON.isoformat(),
                "months": 3,
                "countries_iso2": ["DE"],
            },
        ),
        (
            types.MessageMediaGiveawayResults(9, 3, 2, 0, [1, 2], NOON, stars=500),
            {
                "kind": "giveaway_results",
                "channel_id": 9,
                "launch_msg_id": 3,
                "winners_count": 2,
                "unclaimed_count": 0,
                "winners": [1, 2],
                "until_date": NOON.isoformat(),
                "stars": 500,
            },
        ),
        (
            types.MessageMediaPaidMedia(
                50, [PREVIEW, types.MessageExtendedMedia(types.MessageMediaPhoto(photo=types.PhotoEmpty(3)))]
            ),
            {
                "kind": "paid_media",
                "stars_amount": 50,
                "items": [{"kind": "preview", "w": 640, "h": 360}, {"kind": "photo", "id": 3}],
            },
        ),
        (
            types.MessageMediaToDo(TODO, [types.TodoCompletion(1, types.PeerUser(6), NOON)]),
            {
                "kind": "todo",
                "todo": {"title": "Дела", "list": [{"id": 1, "title": "Хлеб"}]},
                "completions": [{"id": 1, "completed_by": {"user_id": 6}, "date": NOON.isoformat()}],
            },
        ),
        (
            types.MessageMediaVideoStream(types.InputGroupCall(3, 5)),
            {"kind": "video_stream", "call": {"id": 3}},
        ),
    ],
)
def test_of_everything_else_the_small_facts_are_kept(media: Any, details: Json) -> None:
    post = translate_media(media)
    assert (post.kind, post.facts) == (PostKind.OTHER, {"media": details})


def test_what_is_newer_than_our_layer_is_unreadable_with_its_text_kept() -> None:
    post = translate_media(types.MessageMediaUnsupported())
    assert (post.kind, post.facts) == (PostKind.UNREADABLE, {"media": {"kind": "unsupported"}})


@pytest.mark.parametrize(
    ("media", "ids"),
    [
        (types.MessageMediaPhoto(photo=photo()), [LARGE]),
        (types.MessageMediaDocument(document=document()), [LARGE]),
        (types.MessageMediaPoll(types.Poll(3, words("?"), [], 0), types.PollResults()), [3]),
        (types.MessageMediaWebPage(PAGE), []),
        (types.MessageMediaGame(GAME), []),
    ],
)
def test_another_photo_file_or_poll_is_an_edit_and_a_preview_is_none(media: Any, ids: list[int]) -> None:
    assert translate_media(media).content_hash == fingerprint("Текст", (), ids)
