"""Translates the media of a bubble: its kind, and the few facts that a preview contains."""

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

from telegram_assistant.domain.posts.post import Facts, PostKind
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.previews.tree import Node

DURATION = re.compile(r"^(?:(\d{1,3}):)?(\d{1,2}):(\d{2})$", re.ASCII)
PERCENT = re.compile(r"^(\d{1,3})%$", re.ASCII)


class PreviewMedia(NamedTuple):
    """The media of a bubble. `facts` belong to the post, under `media` and `poll`."""

    kind: PostKind
    facts: Facts


def first_media_in(node: Node, *, leave_out: Collection[str]) -> PreviewMedia | None:
    """Return the first picture, video or file below an element."""
    return next(
        (media for element in node.inside(leave_out=leave_out) if (media := media_of(element)) is not None),
        None,
    )


def media_of(node: Node) -> PreviewMedia | None:
    """Return the media of an element by its class, or None."""
    for name in node.classes:
        if name in _TRANSLATORS:
            kind, translate = _TRANSLATORS[name]
            facts = translate(node)
            return PreviewMedia(PostKind.AUDIO if facts["kind"] == "audio" else kind, {"media": facts})
    return None


def _only_kind(kind: str) -> Callable[[Node], Facts]:
    return lambda _: {"kind": kind}


def _with_duration(kind: str, class_name: str) -> Callable[[Node], Facts]:
    def translate(node: Node) -> Facts:
        time = node.first(class_name)
        match = DURATION.match(time.words()) if time is not None else None
        if match is None:
            return {"kind": kind}
        hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return {"kind": kind, "duration_seconds": hours * 3600 + minutes * 60 + seconds}

    return translate


def _file(node: Node) -> Facts:
    title, extra_text = (
        _text_in(node, f"tgme_widget_message_document_{name}") for name in ("title", "extra")
    )
    return {
        "kind": "document",
        **({"file_name": title} if title else {}),
        **({"size": extra_text} if extra_text else {}),
    }


def _audio(node: Node) -> Facts:
    title, performer = (_text_in(node, f"tgme_widget_message_document_{name}") for name in ("title", "extra"))
    return {
        "kind": "audio",
        **({"title": title} if title else {}),
        **({"performer": performer} if performer else {}),
    }


def _text_in(node: Node, class_name: str) -> str:
    element = node.first(class_name)
    return storable(element.words()) if element is not None else ""


def _document(node: Node) -> Facts:
    icon = node.first("tgme_widget_message_document_icon")
    return _audio(node) if icon is not None and "audio" in icon.classes else _file(node)


_TRANSLATORS: dict[str, tuple[PostKind, Callable[[Node], Facts]]] = {
    "tgme_widget_message_photo_wrap": (PostKind.PHOTO, _only_kind("photo")),
    "tgme_widget_message_video_player": (PostKind.VIDEO, _with_duration("video", "message_video_duration")),
    "tgme_widget_message_roundvideo_player": (
        PostKind.VIDEO,
        _with_duration("round", "tgme_widget_message_roundvideo_duration"),
    ),
    "tgme_widget_message_voice_player": (
        PostKind.VOICE,
        _with_duration("voice", "tgme_widget_message_voice_duration"),
    ),
    "tgme_widget_message_document_wrap": (PostKind.DOCUMENT, _document),
    "tgme_widget_message_sticker_wrap": (PostKind.STICKER, _only_kind("sticker")),
    "tgme_widget_message_location_wrap": (PostKind.OTHER, _only_kind("geo")),
    "tgme_widget_message_contact_wrap": (PostKind.OTHER, _only_kind("contact")),
    "tgme_widget_message_game_wrap": (PostKind.OTHER, _only_kind("game")),
    "tgme_widget_message_invoice_wrap": (PostKind.OTHER, _only_kind("invoice")),
}


def poll_in(node: Node) -> PreviewMedia | None:
    poll = node.first("tgme_widget_message_poll")
    if poll is None:
        return None
    facts: Facts = {"question": _text_in(poll, "tgme_widget_message_poll_question")}
    facts["answers"] = [_answer(option) for option in poll.all("tgme_widget_message_poll_option")]
    if "Quiz" in _text_in(poll, "tgme_widget_message_poll_type"):
        facts["quiz"] = True
    return PreviewMedia(PostKind.POLL, {"poll": facts})


def _answer(option: Node) -> Facts:
    percent = PERCENT.match(_text_in(option, "tgme_widget_message_poll_option_percent"))
    text: Facts = {"text": _text_in(option, "tgme_widget_message_poll_option_text")}
    return {**text, "percent": int(percent[1])} if percent else text


def web_page_in(node: Node) -> PreviewMedia | None:
    """Return the preview of a link. The post is still a text."""
    page = node.first("tgme_widget_message_link_preview")
    if page is None:
        return None
    facts: Facts = {"kind": "web_page", "url": storable(page.get("href"))}
    facts |= {
        name: text
        for name in ("site_name", "title", "description")
        if (text := _text_in(page, f"link_preview_{name}"))
    }
    return PreviewMedia(PostKind.TEXT, {"media": facts})
