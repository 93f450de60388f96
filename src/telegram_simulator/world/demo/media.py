"""What hangs on a planned post: pictures drawn for it or taken over from others, films, papers, previews, polls."""

import random
import re

from telegram_simulator.world.chance import number64
from telegram_simulator.world.demo.packs import packs
from telegram_simulator.world.demo.plan import Kind, Planned, Reuse, Role, Shows
from telegram_simulator.world.demo.texts import article_of, core_of, text_of, values_of
from telegram_simulator.world.demo.wording import said
from telegram_simulator.world.load import SECOND_DC
from telegram_simulator.world.post import Document, Drawing, File, FileKind, Media, Photo, Poll, WebPage
from telegram_simulator.world.world import HOME_DC

KINDS = {
    Shows.PHOTO: FileKind.JPEG,
    Shows.VIDEO: FileKind.MP4,
    Shows.PDF: FileKind.PDF,
    Shows.WEBP: FileKind.WEBP,
    Shows.GIF: FileKind.GIF,
    Shows.PNG: FileKind.PNG,
}
SIZES = {FileKind.JPEG: 90_000, FileKind.PNG: 160_000, FileKind.WEBP: 60_000, FileKind.GIF: 150_000, FileKind.MP4: 450_000, FileKind.PDF: 420_000}
"""The least size of each: larger than what is drawn, whatever is drawn."""
NAMES = {"ru": ("снимок", "документ", "кадр", "схема"), "en": ("picture", "document", "frame", "plan")}


def media_of(post: Planned, *, articles: str) -> Media | None:
    if post.shows in KINDS:
        file = _file(post)
        if post.shows is Shows.PHOTO:
            return Photo(file)
        names = NAMES[post.channel.language]
        return Document(file, f"{names[post.key // 16 % len(names)]}_{post.key // 16 % 1000}.{file.kind.partition('/')[2]}")
    if post.shows is Shows.POLL and post.filling is not None and post.filling.poll is not None:
        question, *answers = packs().polls[post.filling.poll][post.channel.language]
        return Poll(question, tuple(answers))
    article = article_of(post)
    if post.shows is Shows.PAGE and article is not None:
        core = core_of(post.root, 0)
        return WebPage(f"{articles}/{article}", core.head or core.sentences[0], core.sentences[0])
    return None


def drawing_of(post: Planned) -> Drawing:
    """What the post shows. Who takes over a picture shows the same one, changed; who tells a story on shows a picture of his own."""
    source = post.source
    if post.role is Role.FORWARD:
        return drawing_of(post.root)
    if source is not None and post.role in {Role.COPY, Role.REWRITE, Role.TRANSLATION}:
        mark = f"@{post.channel.name or post.channel.title}" if post.reuse is Reuse.WATERMARKED else ""
        original = drawing_of(source)
        return original._replace(number=original.number + post.part, change=post.reuse.value, mark=mark)
    if post.story is None:
        return Drawing("poster" if post.kind is Kind.ADVERTISING else "photo", (_first_sentence(post),), post.key)
    lines = tuple(said(line, values_of(post, 0), post.channel.language, random.Random(0)) for line in _card(post))
    if post.shows is Shows.PDF:
        return Drawing("paper", (core_of(post, 0).head, *core_of(post, 0).sentences), post.key)
    return Drawing(post.story.event.scene, lines, post.story.number + post.part, post.reuse.value)


def _first_sentence(post: Planned) -> str:
    """What is written on the wall in pictures of everyday life."""
    said = text_of(post, 0, articles="").text
    return re.split(r"(?<=[.!?])\s", said.lstrip("".join(post.channel.voice.emoji) + " "))[0]


def _card(post: Planned) -> tuple[str, ...]:
    assert post.story is not None
    card = post.story.event.words[post.channel.language]["card"]
    return tuple(card[:1] if post.part % 2 else card)


def _file(post: Planned) -> File:
    drawing, kind = drawing_of(post), KINDS[post.shows]
    number = number64("demo", repr(drawing), kind.value) & (2**62 - 1)
    size = SIZES[kind] + number % (SIZES[kind] // 2)
    dc_id = SECOND_DC if number % 5 == 0 else HOME_DC
    return File(number, kind, size, dc_id, width=640, height=400, drawing=drawing, seconds=3.0 if kind is FileKind.MP4 else 1.0)
