"""Media of a planned post: pictures drawn for it or taken over from others, films, papers, previews,
polls.
"""

import random
import re

from telegram_simulator.world.article import PageKind
from telegram_simulator.world.demo.articles import article_of
from telegram_simulator.world.demo.drawn import file_of
from telegram_simulator.world.demo.links import link_of
from telegram_simulator.world.demo.packs import packs
from telegram_simulator.world.demo.plan import Kind, Planned, Reuse, Role, Shows
from telegram_simulator.world.demo.texts import core_of, text_of, values_of
from telegram_simulator.world.demo.wording import fill_template
from telegram_simulator.world.post import Document, Drawing, FileKind, Media, Photo, Poll, WebPage

KINDS = {
    Shows.PHOTO: FileKind.JPEG,
    Shows.VIDEO: FileKind.MP4,
    Shows.PDF: FileKind.PDF,
    Shows.WEBP: FileKind.WEBP,
    Shows.GIF: FileKind.GIF,
    Shows.PNG: FileKind.PNG,
}
NAMES = {"ru": ("снимок", "документ", "кадр", "схема"), "en": ("picture", "document", "frame", "plan")}


def media_of(post: Planned, *, site: str) -> Media | None:
    if post.shows in KINDS:
        file = file_of(drawing_of(post), KINDS[post.shows])
        if post.shows is Shows.PHOTO:
            return Photo(file)
        names = NAMES[post.channel.language]
        return Document(
            file,
            f"{names[post.key // 16 % len(names)]}_{post.key // 16 % 1000}.{file.kind.partition('/')[2]}",
        )
    if post.shows is Shows.POLL and post.filling is not None and post.filling.poll is not None:
        question, *answers = packs().polls[post.filling.poll][post.channel.language]
        return Poll(question, tuple(answers))
    link = link_of(post)
    if post.shows is Shows.PAGE and link is not None and link.kind is not PageKind.PRIVATE:
        article = article_of(link, site)
        return WebPage(article.url, article.title, article.description)
    return None


def drawing_of(post: Planned) -> Drawing:
    """The picture that the post shows.

    A channel that takes over a picture shows the same one, changed; a channel that tells a story on shows a
    picture of its own.
    """
    source = post.source
    if post.role is Role.FORWARD:
        return drawing_of(post.root)
    if source is not None and post.role in {Role.COPY, Role.REWRITE, Role.TRANSLATION}:
        mark = f"@{post.channel.name or post.channel.title}" if post.reuse is Reuse.WATERMARKED else ""
        original = drawing_of(source)
        return original._replace(number=original.number + post.part, change=post.reuse.value, mark=mark)
    if post.story is None:
        return Drawing(
            "poster" if post.kind is Kind.ADVERTISING else "photo", (_first_sentence(post),), post.key
        )
    lines = tuple(
        fill_template(line, values_of(post, 0), post.channel.language, random.Random(0))
        for line in _card(post)
    )
    if post.shows is Shows.PDF:
        return Drawing("paper", (core_of(post, 0).head, *core_of(post, 0).sentences), post.key)
    return Drawing(post.story.event.scene, lines, post.story.number + post.part, post.reuse.value)


def _first_sentence(post: Planned) -> str:
    """The text on the wall in pictures of everyday life."""
    text = text_of(post, 0, site="").text
    return re.split(r"(?<=[.!?])\s", text.lstrip("".join(post.channel.voice.emoji) + " "))[0]


def _card(post: Planned) -> tuple[str, ...]:
    assert post.story is not None
    card = post.story.event.words[post.channel.language]["card"]
    return tuple(card[:1] if post.part % 2 else card)
