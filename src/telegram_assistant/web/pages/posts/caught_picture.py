"""Draws the quiet changes of a week as a picture to share: an SVG that loads nothing and runs nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from textwrap import shorten, wrap

from telegram_assistant.domain.sharing.content import SharedContent, SharedLine, SharedSection
from telegram_assistant.features.sharing.caught import DELETED, VIEWS
from telegram_assistant.features.sharing.content import BEFORE
from telegram_assistant.translation import translate
from telegram_assistant.web.characters import clean_characters

WIDTH, MARGIN = 1080, 64
LINE_LETTERS, HEADING_LETTERS = 52, 60
"""Of the widest of the fonts."""
MAX_LETTERS = 3 * LINE_LETTERS
"""Of one text."""
PAPER, INK, SOFT, GONE, COME = "#fbfaf7", "#1d1f23", "#5c6270", "#a52c20", "#1e6f49"
SERIF = "PT Serif, Charter, Noto Serif, Georgia, serif"
SANS = "system-ui, Segoe UI, Roboto, Noto Sans, sans-serif"


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of the picture, and how far it is below the one before."""

    text: str
    height: int
    size: int
    color: str
    font: str = SANS
    weight: int = 400
    decoration: str = "none"

    def at(self, y: int) -> str:
        return (
            f'<text x="{MARGIN}" y="{y}" font-family="{self.font}" font-size="{self.size}" '
            f'font-weight="{self.weight}" fill="{self.color}" text-decoration="{self.decoration}">'
            f"{escape(self.text)}</text>"
        )


def draw_caught(content: SharedContent, *, language: str) -> str:
    """As high as its texts need."""
    y, texts = MARGIN, list[str]()
    for row in _rows(content, language):
        y += row.height
        texts.append(row.at(y))
    height = y + MARGIN
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}">',
            f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
            *texts,
            "</svg>\n",
        )
    )


def _rows(content: SharedContent, language: str) -> Iterator[_Row]:
    name, _, week_text = translate(content.title, language).partition(": ")
    yield _Row(name, 40, 48, INK, SERIF, 700)
    yield _Row(week_text, 48, 28, SOFT)
    links = {post.post_id: post.link for post in content.posts}
    for section in content.sections:
        yield from _section_rows(section, language)
        link = links[section.lines[0].posts[0]].removeprefix("https://")
        yield _Row(clean_characters(link), 34, 22, SOFT)


def _section_rows(section: SharedSection, language: str) -> Iterator[_Row]:
    heading = translate(section.heading, language) if section.heading else ""
    views = next((line.text for line in section.lines if line.label is VIEWS), None)
    if views is not None:
        heading = f"{heading} · {translate(VIEWS, language)}: {views}"
    for index, row in enumerate(wrap(clean_characters(heading), HEADING_LETTERS)):
        yield _Row(row, 34 if index else 72, 24, SOFT, weight=600)
    for line in section.lines:
        if line.label is not VIEWS:
            yield from _text_rows(line)


def _text_rows(line: SharedLine) -> Iterator[_Row]:
    is_gone = line.label in {BEFORE, DELETED}
    text = shorten(clean_characters(line.text), MAX_LETTERS, placeholder="…")
    for row in wrap(text, LINE_LETTERS):
        yield _Row(
            row,
            42,
            30,
            GONE if is_gone else COME,
            SERIF,
            decoration="line-through" if is_gone else "none",
        )
