"""A post's text as Telegram's web pages write it."""

import heapq
import re
from collections.abc import Callable, Sequence
from html import escape
from urllib.parse import quote

from telegram_simulator.world.post import Entity

EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]\ufe0f?")
NEW_WINDOW = 'target="_blank" rel="noopener"'


def as_html(text: str, entities: Sequence[Entity] = ()) -> str:
    """Turns marks into tags. A mark that reaches beyond the mark around it is split into two tags."""
    units = text.encode("utf-16-le", "surrogatepass")
    size, written, at = len(units) // 2, list[str](), 0
    waiting = [
        (mark.offset, -min(mark.offset + mark.length, size), number, mark)
        for number, mark in enumerate(entities)
        if mark.offset < size
    ]
    heapq.heapify(waiting)
    opened: list[tuple[int, str]] = []
    while waiting or opened:
        opens, closes = waiting[0][0] if waiting else size, opened[-1][0] if opened else size + 1
        position = min(opens, closes)
        written.append(plain(_between(units, at, position)))
        at = position
        if closes <= opens:
            written.append(opened.pop()[1])
            continue
        start, end, number, entity = heapq.heappop(waiting)
        end = -end
        if opened and end > opened[-1][0]:
            heapq.heappush(waiting, (opened[-1][0], -end, number, entity))
            end = opened[-1][0]
        opening, closing = _tags(entity, _between(units, start, end))
        written.append(opening)
        opened.append((end, closing))
    written.append(plain(_between(units, at, size)))
    return "".join(written)


def plain(text: str) -> str:
    """Escapes text without marks. Line breaks become tags; emoji become pictures with a text inside."""
    return EMOJI.sub(lambda match: emoji(match[0]), escape(text)).replace("\n", "<br/>")


def emoji(character: str) -> str:
    picture = character.encode().hex().upper()
    return (
        '<i class="emoji" '
        f"style=\"background-image:url('//telegram.org/img/emoji/40/{picture}.png')\"><b>{character}</b></i>"
    )


def _between(units: bytes, start: int, end: int) -> str:
    return units[start * 2 : end * 2].decode("utf-16-le", "replace")


def _tags(entity: Entity, inner_html: str) -> tuple[str, str]:
    if entity.kind in _SIMPLE:
        return f"<{_SIMPLE[entity.kind]}>", f"</{_SIMPLE[entity.kind]}>"
    if entity.kind in _LINKS:
        return f"<a {_LINKS[entity.kind](entity, inner_html)}>", "</a>"
    match entity.kind:
        case "pre":
            return (
                (f'<pre><code class="language-{escape(entity.url)}">', "</code></pre>")
                if entity.url
                else ("<pre>", "</pre>")
            )
        case "blockquote":
            return "<blockquote expandable>" if entity.url else "<blockquote>", "</blockquote>"
        case "custom_emoji":
            return f'<tg-emoji emoji-id="{escape(entity.url)}">', "</tg-emoji>"
    return "", ""


_SIMPLE = {
    "bold": "b",
    "italic": "i",
    "underline": "u",
    "strike": "s",
    "spoiler": "tg-spoiler",
    "code": "code",
}


def _url(_entity: Entity, inner_html: str) -> str:
    return f'href="{escape(inner_html if "://" in inner_html else f"http://{inner_html}")}" {NEW_WINDOW}'


def _text_url(entity: Entity, _inside: str) -> str:
    return (
        f'href="{escape(entity.url)}" {NEW_WINDOW} onclick="return confirm(&#39;Open this link?\\n\\n'
        '&#39;+this.href);"'
    )


_LINKS: dict[str, Callable[[Entity, str], str]] = {
    "url": _url,
    "text_url": _text_url,
    "mention": lambda _, inside: f'href="https://t.me/{escape(inside.removeprefix("@"))}" target="_blank"',
    "hashtag": lambda _, inside: f'href="?q={quote(inside)}"',
    "cashtag": lambda _, inside: f'href="?q={quote(inside)}"',
    "email": lambda _, inside: f'href="mailto:{escape(inside)}" {NEW_WINDOW}',
}
