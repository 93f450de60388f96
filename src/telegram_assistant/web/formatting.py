"""Telegram's formatted text as HTML.

Entities overlap as their author likes, but elements must nest. So formatting is drawn in layers, which nest
in a fixed order. Within a layer nothing overlaps: an entity begins where the one before it ended. When an
outer layer begins or ends, the inner ones are closed and opened again. That takes time linear in the text,
nests no deeper than there are layers, and makes valid HTML of any entities.

Whatever is not `Markup` is escaped as it is joined to `Markup`, and only constants of this file become
`Markup`.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise, takewhile
from typing import NamedTuple

from markupsafe import Markup

from telegram_assistant.domain.posts.post import TextEntity
from telegram_assistant.web.characters import clean_characters, places_of_units
from telegram_assistant.web.links import VisibleHost, link_of, unexpected_host, visible_hosts

MAX_ENTITIES = 500
"""Telegram sends at most a hundred with a message, and more with a message that is written as a page."""
MAX_MARKUP_LENGTH = 500_000
"""The most characters of HTML.

A text that needs more for its formatting, as only an attack does, is shown without.
"""

_LINE_BREAK = Markup("<br>")
_LANGUAGE = re.compile(r"[a-z0-9+#-]{1,32}", re.ASCII | re.IGNORECASE)
_TAG_TO_SEARCH = re.compile(r"[#$]\S{1,128}")
_LINES = re.compile(r"\S[^\n]*(?:\n[^\S\n]*\S[^\n]*)*")
"""Lines without a blank line between them."""


class _Element(NamedTuple):
    """The tags around a piece of text.

    `end_note` follows where the text ends, not where another layer interrupts it.
    """

    opening: Markup
    closing: Markup
    end_note: Markup = Markup()


class _EntitySpan(NamedTuple):
    """An element of one layer, from one place in the text to another."""

    layer: int
    start: int
    end: int
    element: _Element


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surroundings:
    """The facts that an element may depend on beside its entity."""

    text: str
    hosts: Sequence[VisibleHost]
    search_url: Callable[[str], str] | None
    spoiler_label: str
    quote_label: str
    is_for_pages: bool = True
    """Whether the reader has our style sheet, without which a spoiler is not covered."""


def render_text(
    text: str,
    entities: Sequence[TextEntity],
    *,
    search_url: Callable[[str], str],
    spoiler_label: str,
    quote_label: str,
) -> Markup:
    """A `<div>` with paragraphs, quotes and code. `search_url` is the address of a search for a hashtag or
    cashtag.

    `spoiler_label` names the checkbox that uncovers a spoiler, `quote_label` is the visible beginning of a
    collapsed quote.
    """
    clean_text = clean_characters(text)
    hosts = visible_hosts(clean_text)
    surroundings = _Surroundings(
        text=clean_text,
        hosts=hosts,
        search_url=search_url,
        spoiler_label=spoiler_label,
        quote_label=quote_label,
    )
    return _render_entities(text, entities, surroundings)


def render_for_feed(text: str, entities: Sequence[TextEntity], *, spoiler_label: str) -> Markup:
    """The same for feed readers, which have neither our style sheet nor our search.

    `spoiler_label` stands before a spoiler.
    """
    clean_text = clean_characters(text)
    hosts = visible_hosts(clean_text)
    surroundings = _Surroundings(
        text=clean_text,
        hosts=hosts,
        search_url=None,
        spoiler_label=spoiler_label,
        quote_label="",
        is_for_pages=False,
    )
    return _render_entities(text, entities, surroundings)


def _render_entities(text: str, entities: Sequence[TextEntity], surroundings: _Surroundings) -> Markup:
    spans = list(_spans(entities[:MAX_ENTITIES], places_of_units(text), surroundings))
    rendered_text = _render(surroundings.text, spans)
    return rendered_text if len(rendered_text) <= MAX_MARKUP_LENGTH else _render(surroundings.text, [])


def _render(text: str, spans: list[_EntitySpan]) -> Markup:
    return Markup('<div class="text">{}</div>').format(
        Markup().join(_nest_elements(text, [*spans, *_paragraphs(text, spans)]))
    )


def _spans(
    entities: Iterable[TextEntity], letter_indexes: list[int], surroundings: _Surroundings
) -> Iterator[_EntitySpan]:
    """The elements that the entities draw, without overlaps in any layer and without blanks at the end."""
    units = len(letter_indexes) - 1
    drawn_until: defaultdict[int, int] = defaultdict(int)
    for entity in sorted(entities, key=lambda entity: (entity.offset, -entity.length)):
        if entity.kind not in _LAYERS:
            continue
        layer, element_of = _LAYERS[entity.kind]
        start = max(letter_indexes[min(max(entity.offset, 0), units)], drawn_until[layer])
        end = start + len(
            surroundings.text[
                start : letter_indexes[min(max(entity.offset + entity.length, 0), units)]
            ].rstrip()
        )
        if start < end:
            drawn_until[layer] = end
            element = element_of(entity, start, end, surroundings)
            if element is not None:
                yield _EntitySpan(layer, start, end, element)


def _paragraphs(text: str, spans: Iterable[_EntitySpan]) -> Iterator[_EntitySpan]:
    """Lines that belong together, cut where quotes begin and end, except in blocks of code."""
    quotes_and_code = [span for span in spans if span.layer < _PARAGRAPH]
    code_ends = {span.start: span.end for span in quotes_and_code if span.layer == _CODE_BLOCK}
    edges = {0, len(text), *(span.start for span in quotes_and_code), *(span.end for span in quotes_and_code)}
    code_until = 0
    for start, end in pairwise(sorted(edges)):
        code_until = code_ends.get(start, code_until)
        if start >= code_until:
            for lines in _LINES.finditer(text, start, end):
                yield _EntitySpan(
                    _PARAGRAPH, lines.start(), lines.start() + len(lines[0].rstrip()), _PARAGRAPH_ELEMENT
                )


def _nest_elements(text: str, spans: Sequence[_EntitySpan]) -> Iterator[str]:
    """The text in its elements. Text outside of paragraphs and code, which is only blanks, is left out."""
    starting: defaultdict[int, list[_EntitySpan]] = defaultdict(list)
    for span in spans:
        starting[span.start].append(span)
    edges = {len(text), len(text) + 1, *starting, *(span.end for span in spans)}
    active, opened_spans = list[_EntitySpan](), list[_EntitySpan]()
    for start, end in pairwise(sorted(edges)):
        active = sorted((*(span for span in active if span.end > start), *starting[start]))
        layers = {span.layer for span in active}
        is_text = _PARAGRAPH in layers or _CODE_BLOCK in layers
        current_spans = active if is_text else [span for span in active if span.layer < _CODE_BLOCK]
        same_count = sum(
            1
            for _ in takewhile(
                lambda pair: pair[0] is pair[1], zip(opened_spans, current_spans, strict=False)
            )
        )
        for span in reversed(opened_spans[same_count:]):
            yield span.element.closing
            yield span.element.end_note if span.end <= start else ""
        yield from (span.element.opening for span in current_spans[same_count:])
        opened_spans = current_spans
        if is_text:
            yield _LINE_BREAK.join(text[start:end].split("\n")) if _PARAGRAPH in layers else text[start:end]


def _quote(entity: TextEntity, _start: int, _end: int, surroundings: _Surroundings) -> _Element:
    if entity.detail != "collapsed" or not surroundings.is_for_pages:
        return _Element(Markup("<blockquote>"), Markup("</blockquote>"))
    opening = Markup('<details class="quote"><summary>{}</summary><blockquote>').format(
        surroundings.quote_label
    )
    return _Element(opening, Markup("</blockquote></details>"))


def _code_block(entity: TextEntity, *_: object) -> _Element:
    opening, closing = Markup('<pre dir="auto"><code>'), Markup("</code></pre>")
    if isinstance(entity.detail, str) and _LANGUAGE.fullmatch(entity.detail):
        opening = Markup('<pre dir="auto"><code class="language-{}">').format(entity.detail.lower())
    return _Element(opening, closing)


def _spoiler(_entity: TextEntity, _start: int, _end: int, surroundings: _Surroundings) -> _Element:
    """A checkbox in its label, because it works without script, by mouse, touch and keyboard, stays
    uncovered, and may hold links.

    The style sheet draws the cover and hides the words beside an unchecked box (`visibility: hidden`): so no
    screen reader tells them either.
    """
    if not surroundings.is_for_pages:
        return _Element(Markup("[{}] ").format(surroundings.spoiler_label), Markup())
    opening = Markup(
        '<label class="spoiler"><input type="checkbox" autocomplete="off" aria-label="{}"><span>'
    ).format(surroundings.spoiler_label)
    return _Element(opening, Markup("</span></label>"))


def _search_link(_entity: TextEntity, start: int, end: int, surroundings: _Surroundings) -> _Element | None:
    words = surroundings.text[start:end]
    if surroundings.search_url is None or not _TAG_TO_SEARCH.fullmatch(words):
        return None
    return _Element(Markup('<a href="{}" dir="auto">').format(surroundings.search_url(words)), Markup("</a>"))


def _link(entity: TextEntity, start: int, end: int, surroundings: _Surroundings) -> _Element | None:
    link = link_of(entity, surroundings.text[start:end])
    if link is None:
        return None
    target = Markup(' target="_blank"') if link.address.startswith("http") else ""
    opening = Markup('<a href="{}" rel="noreferrer noopener nofollow"{} dir="auto">').format(
        link.address, target
    )
    host = unexpected_host(link, surroundings.text, start, end, surroundings.hosts)
    note = (
        Markup(' <span class="host" dir="ltr">{}</span>')
        if surroundings.is_for_pages
        else Markup(' (<span dir="ltr">{}</span>)')
    )
    return _Element(opening, Markup("</a>"), note.format(host) if host else Markup())


def _time(entity: TextEntity, *_: object) -> _Element | None:
    try:
        moment = datetime.fromisoformat(str(entity.detail))
    except ValueError:
        return None
    return _Element(Markup('<time datetime="{}">').format(moment.isoformat()), Markup("</time>"))


type _ElementOf = Callable[[TextEntity, int, int, _Surroundings], _Element | None]

_QUOTE, _CODE_BLOCK, _PARAGRAPH, _SPOILER, _LINK, _TIME, _INLINE = range(7)
_PARAGRAPH_ELEMENT = _Element(Markup('<p dir="auto">'), Markup("</p>"))
_INLINE_ELEMENTS = {
    "heading": _Element(Markup('<strong class="heading">'), Markup("</strong>")),
    "bold": _Element(Markup("<b>"), Markup("</b>")),
    "italic": _Element(Markup("<i>"), Markup("</i>")),
    "underline": _Element(Markup("<u>"), Markup("</u>")),
    "strike": _Element(Markup("<s>"), Markup("</s>")),
    "marked": _Element(Markup("<mark>"), Markup("</mark>")),
    "subscript": _Element(Markup("<sub>"), Markup("</sub>")),
    "superscript": _Element(Markup("<sup>"), Markup("</sup>")),
    "diff_insert": _Element(Markup("<ins>"), Markup("</ins>")),
    "diff_replace": _Element(Markup("<ins>"), Markup("</ins>")),
    "diff_delete": _Element(Markup("<del>"), Markup("</del>")),
    "code": _Element(Markup("<code>"), Markup("</code>")),
    "math": _Element(Markup('<code class="math">'), Markup("</code>")),
}
_LAYERS: dict[str, tuple[int, _ElementOf]] = {
    "blockquote": (_QUOTE, _quote),
    "pre": (_CODE_BLOCK, _code_block),
    "spoiler": (_SPOILER, _spoiler),
    **dict.fromkeys(("url", "text_url", "mention", "mention_name", "email", "phone"), (_LINK, _link)),
    **dict.fromkeys(("hashtag", "cashtag"), (_LINK, _search_link)),
    "formatted_date": (_TIME, _time),
    **{
        kind: (layer, lambda entity, *_: _INLINE_ELEMENTS[entity.kind])
        for layer, kind in enumerate(_INLINE_ELEMENTS, _INLINE)
    },
}
"""The layer of each kind of entity, outermost first, and its element.

Other kinds, like commands and custom emoji, are shown as their text.
"""
