"""Translates the media of a message: its kind, its facts, and the ids whose change makes it other media."""

from collections.abc import Callable
from typing import Any, NamedTuple

from telethon.tl import types

from telegram_assistant.domain.posts.post import Facts, Json, PostKind
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.telegram.translation.files import document_facts, photo_facts
from telegram_assistant.telegram.translation.values import facts_of, pick_facts, snake_case_name


class MessageMedia(NamedTuple):
    """The media of a message. `facts` belong to the post, under `media` and `poll`."""

    kind: PostKind
    facts: Facts
    ids: tuple[int, ...] = ()


_KINDS = {
    "document": PostKind.DOCUMENT,
    "video": PostKind.VIDEO,
    "round": PostKind.VIDEO,
    "animation": PostKind.VIDEO,
    "audio": PostKind.AUDIO,
    "voice": PostKind.VOICE,
    "sticker": PostKind.STICKER,
}


def media_of(media: types.TypeMessageMedia | None) -> MessageMedia:
    if media is None:
        return MessageMedia(PostKind.TEXT, {})
    return _TRANSLATORS.get(type(media), _other)(media)


def _photo(media: types.MessageMediaPhoto) -> MessageMedia:
    facts: Facts = {"kind": "photo"}
    if media.photo is not None:
        facts |= photo_facts(media.photo)
    if media.live_photo:
        facts["live"] = True
    return MessageMedia(
        PostKind.PHOTO,
        {"media": _add_restrictions(facts, media)},
        () if media.photo is None else (media.photo.id,),
    )


def _document(media: types.MessageMediaDocument) -> MessageMedia:
    document = media.document
    if document is None:
        kind = "round" if media.round else "voice" if media.voice else "video" if media.video else "document"
        return MessageMedia(_KINDS[kind], {"media": _add_restrictions({"kind": kind}, media)})
    facts = document_facts(document)
    return MessageMedia(
        _KINDS[str(facts["kind"])], {"media": _add_restrictions(facts, media)}, (document.id,)
    )


def _add_restrictions(facts: Facts, media: types.MessageMediaPhoto | types.MessageMediaDocument) -> Facts:
    if media.spoiler:
        facts["spoiler"] = True
    if media.ttl_seconds is not None:
        facts["ttl_seconds"] = media.ttl_seconds
    return facts


def _web_page(media: types.MessageMediaWebPage) -> MessageMedia:
    """Translate a web preview.

    One that Telegram is still building is `pending`; one that it could not build has a URL at most.
    """
    page = media.webpage
    facts: Facts = {"kind": "web_page"}
    if type(page) is types.WebPagePending:
        facts["pending"] = True
    facts |= pick_facts(
        page, ("url", "type", "site_name", "title", "description", "author", "photo", "document")
    )
    return MessageMedia(PostKind.TEXT, {"media": facts})


def _poll(media: types.MessageMediaPoll) -> MessageMedia:
    poll, results = media.poll, media.results
    votes = {result.option: result for result in results.results or ()}
    facts: Facts = {
        "id": poll.id,
        "question": storable(poll.question.text),
        "answers": [_answer(answer, votes.get(answer.option)) for answer in poll.answers],
    }
    facts |= pick_facts(
        poll, ("quiz", "closed", "multiple_choice", "public_voters", "close_period", "close_date")
    )
    facts |= pick_facts(results, ("total_voters", "solution"))
    return MessageMedia(PostKind.POLL, {**media_of(media.attached_media).facts, "poll": facts}, (poll.id,))


def _answer(answer: types.TypePollAnswer, votes: types.PollAnswerVoters | None) -> Facts:
    facts: Facts = {"text": storable(answer.text.text)}
    if votes is not None and votes.voters is not None:
        facts["voters"] = votes.voters
    if votes is not None and votes.correct:
        facts["correct"] = True
    return facts


def _translate_paid(media: types.MessageMediaPaidMedia | types.MessageMediaInvoice) -> MessageMedia:
    """Translate paid media. Until it is paid for, only previews are known."""
    facts, extended = _other_facts(media), media.extended_media
    items = [
        _item(item) for item in (extended if isinstance(extended, list) else [extended]) if item is not None
    ]
    if items:
        facts["items"] = items
    return MessageMedia(PostKind.OTHER, {"media": facts})


def _item(extended: types.TypeMessageExtendedMedia) -> Json:
    if type(extended) is types.MessageExtendedMedia:
        return media_of(extended.media).facts.get("media", {})
    return {"kind": "preview", **facts_of(extended)}


def _translate_unsupported(_: types.MessageMediaUnsupported) -> MessageMedia:
    """Translate media newer than our layer: kept as unreadable, so that it can be translated later."""
    return MessageMedia(PostKind.UNREADABLE, {"media": {"kind": "unsupported"}})


def _empty(_: types.MessageMediaEmpty) -> MessageMedia:
    return MessageMedia(PostKind.TEXT, {})


def _other(media: types.TypeMessageMedia) -> MessageMedia:
    """Translate everything else: geo, venue, contact, game, dice, story, giveaway and future types."""
    return MessageMedia(PostKind.OTHER, {"media": _other_facts(media)})


def _other_facts(media: types.TypeMessageMedia) -> Facts:
    """Return the small facts of the media, under the schema's names."""
    kind = _NAMES.get(type(media)) or snake_case_name(type(media).__name__, "MessageMedia")
    return {"kind": kind, **facts_of(media)}


_NAMES = {types.MessageMediaGeoLive: "live_geo", types.MessageMediaToDo: "todo"}

_TRANSLATORS: dict[type, Callable[[Any], MessageMedia]] = {
    types.MessageMediaPhoto: _photo,
    types.MessageMediaDocument: _document,
    types.MessageMediaWebPage: _web_page,
    types.MessageMediaPoll: _poll,
    types.MessageMediaPaidMedia: _translate_paid,
    types.MessageMediaInvoice: _translate_paid,
    types.MessageMediaUnsupported: _translate_unsupported,
    types.MessageMediaEmpty: _empty,
}
