"""The truth about a post and a story, for measurements. Readers cannot see it."""

from collections.abc import Callable, Sequence
from typing import Any

from telegram_simulator.world.demo.articles import article_of, page_truth
from telegram_simulator.world.demo.links import link_of
from telegram_simulator.world.demo.media import KINDS, drawing_of
from telegram_simulator.world.demo.packs import NAMED, Name
from telegram_simulator.world.demo.plan import Planned, Role
from telegram_simulator.world.demo.texts import values_of
from telegram_simulator.world.demo.wording import Values

type Where = Callable[[Planned], tuple[int, int] | None]


def about(post: Planned, where: Where, site: str) -> dict[str, Any]:
    """The truth of one post."""
    link = link_of(post)
    facts: dict[str, Any] = {
        "story": post.story.story_id if post.story else None,
        "role": post.role.value,
        "topic": post.topic,
        "kind": post.kind.value,
        "language": post.root.channel.language,
        "entities": entities(_values(post)),
        "source": where(post.source) if post.source else None,
        "article": page_truth(article_of(link, site), at_length=False) if link else None,
    }
    if post.edit is not None:
        facts["edit"] = {"why": post.edit.value, "at": post.edit_at}
    if post.denies or post.wrong:
        facts["contradicts"] = _contradiction(post)
    if post.shows in KINDS:
        drawing = drawing_of(post)
        facts["picture"] = {
            "number": drawing.number,
            "scene": drawing.scene,
            "change": drawing.change,
            "words": list(drawing.lines),
        }
    if post.planted is not None:
        facts["planted"] = {
            "kinds": list(post.planted.kinds),
            "named_source": post.planted.named_source,
            "state": post.planted.state,
        }
    return facts


def story_truth(posts: Sequence[Planned], where: Where) -> dict[str, Any]:
    """The truth of one story: what happened, who told it in which order, and what was planted in it."""
    story = posts[0].story
    assert story is not None
    return {
        "story": story.story_id,
        "event": story.event.name,
        "topic": story.event.topic,
        "begins": story.begins,
        "entities": entities(story.values),
        "facts": {slot: value for slot, value in story.values.items() if not isinstance(value, Name)},
        "burst": story.burst,
        "resembles": story.resembles,
        "contradicted": any(post.denies or post.wrong for post in posts),
        "continued": any(post.role is Role.FOLLOW_UP and not post.denies for post in posts),
        "posts": [
            {"where": where(post), "role": post.role.value, "date": post.date}
            for post in posts
            if post.part == 0
        ],
    }


def entities(values: Values) -> list[dict[str, str]]:
    names = (value for value in values.values() if isinstance(value, Name) and value.kind in NAMED)
    return [
        {"kind": name.kind, "ru": name.spell("ru"), "en": name.spell("en").removeprefix("the ")}
        for name in names
    ]


def _values(post: Planned) -> Values:
    return post.story.values if post.story else post.filling.values if post.filling else {}


def _contradiction(post: Planned) -> dict[str, Any]:
    story = post.story
    assert story is not None
    key = story.event.key
    return {"denies": post.denies, "slot": key, "said": values_of(post, 0)[key], "true": story.values[key]}
