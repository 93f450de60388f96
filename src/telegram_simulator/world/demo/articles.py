"""Articles about the stories of the demo world: the same facts as in the posts,
told at length by somebody with a name.
"""

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from telegram_simulator.world.article import Article, Mention, Section
from telegram_simulator.world.demo.drawn import file_of
from telegram_simulator.world.demo.links import Link
from telegram_simulator.world.demo.packs import packs
from telegram_simulator.world.demo.plan import Story
from telegram_simulator.world.demo.wording import fill_template, names_somebody
from telegram_simulator.world.post import Drawing, FileKind

EARLIEST, LATEST = 60, 2400
"""Bounds of the seconds from an article to its first post: channels link to articles that are already out."""


def article_of(link: Link, site: str, earlier_stories: Sequence[Story] = ()) -> Article:
    """`earlier` stories are named beside it."""
    story, language = link
    rng, pack = random.Random(f"article {link.page_id} {story.event.name}"), packs().press[language]
    return Article(
        page_id=link.page_id,
        kind=link.kind,
        path=link.path,
        site=site,
        language=language,
        rubric=pack.furniture.sections[story.event.topic],
        title=title_of(link),
        author=rng.choice(pack.authors),
        published=story.begins - rng.randrange(EARLIEST, LATEST),
        sections=_sections(link, rng),
        picture=file_of(_drawing(link), FileKind.JPEG),
        also=tuple(
            Mention(earlier_link.path, title_of(earlier_link))
            for earlier_link in (Link(story, language) for story in earlier_stories)
        ),
        furniture=pack.furniture,
    )


def title_of(link: Link) -> str:
    rng = random.Random(f"title {link.page_id} {link.story.event.name}")
    return fill_template(
        rng.choice(link.story.event.words[link.language]["head"]), link.story.values, link.language, rng
    )


def page_truth(article: Article, *, at_length: bool) -> dict[str, Any]:
    """The truth about a page: everything that a crawler could find out."""
    facts: dict[str, Any] = {
        "page": article.page_id,
        "kind": article.kind.value,
        "path": article.path,
        "url": article.url,
        "language": article.language,
        "title": article.title,
        "author": article.author,
        "published": datetime.fromtimestamp(article.published, UTC).isoformat(),
    }
    return {**facts, "paragraphs": list(article.paragraphs)} if at_length else facts


def _sections(link: Link, rng: random.Random) -> tuple[Section, ...]:
    """Three sections: the event, further facts about it, and the background of its topic."""
    story, language = link
    words, pack = story.event.words[language], packs().press[language]
    lead_index = rng.choice(
        [number for number, sentence in enumerate(words["lead"]) if names_somebody(sentence, story.values)]
        or range(len(words["lead"]))
    )
    facts = [words["fact"][number] for number in story.event.beside[language][lead_index]]
    rng.shuffle(facts)
    first_quote, second = rng.sample(list(words["quote"]), 2)
    background = rng.sample(list(pack.background[story.event.topic]), 4)

    def write_sentences(*templates: str) -> str:
        return " ".join(fill_template(template, story.values, language, rng) for template in templates)

    return (
        Section("", (write_sentences(words["lead"][lead_index], *facts[:1]), write_sentences(first_quote))),
        Section(
            rng.choice(pack.more),
            tuple(
                filter(
                    None, (write_sentences(*facts[1:3]), write_sentences(second), write_sentences(*facts[3:]))
                )
            ),
        ),
        Section(
            rng.choice(pack.why),
            (write_sentences(*background[:2]), write_sentences(*background[2:]), rng.choice(pack.end)),
        ),
    )


def _drawing(link: Link) -> Drawing:
    """The picture that posts show, too, if they show one and have the facts right."""
    story, language = link
    lines = tuple(
        fill_template(line, story.values, language, random.Random(0))
        for line in story.event.words[language]["card"]
    )
    return Drawing(story.event.scene, lines, story.number)
