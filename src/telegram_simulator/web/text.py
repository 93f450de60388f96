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
    size, html_parts, at = len(units) // 2, list[str](), 0
    waiting_marks = [
        (mark.offset, -min(mark.offset + mark.length, size), entity_index, mark)
        for entity_index, mark in enumerate(entities)
        if mark.offset < size
    ]
    heapq.heapify(waiting_marks)
    open_marks: list[tuple[int, str]] = []
    while waiting_marks or open_marks:
        opens, closes = (
            waiting_marks[0][0] if waiting_marks else size,
            open_marks[-1][0] if open_marks else size + 1,
        )
        position = min(opens, closes)
        html_parts.append(plain(_between(units, at, position)))
        at = position
        if closes <= opens:
            html_parts.append(open_marks.pop()[1])
            continue
        start, end, entity_index, entity = heapq.heappop(waiting_marks)
        end = -end
        if open_marks and end > open_marks[-1][0]:
            heapq.heappush(waiting_marks, (open_marks[-1][0], -end, entity_index, entity))
            end = open_marks[-1][0]
        opening, closing = _tags(entity, _between(units, start, end))
        html_parts.append(opening)
        open_marks.append((end, closing))
    html_parts.append(plain(_between(units, at, size)))
    return "".join(html_parts)


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
