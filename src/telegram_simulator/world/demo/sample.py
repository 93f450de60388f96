"""A reading sample of the demo world: thirty posts of its liveliest hour,
and five stories as they went from channel to channel.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from telegram_simulator.world.demo.demo import Demo
from telegram_simulator.world.demo.plan import HOUR, Kind, Planned, Shows
from telegram_simulator.world.demo.texts import text_of, version_at
from telegram_simulator.world.demo.truth import entities

POSTS, STORIES = 30, 5
LINE = "─" * 72


def sample(demo: Demo) -> Iterator[str]:
    """Lines to print."""
    posts = [
        post for past in demo.pasts for post in past.posts if post.part == 0 and post.kind is not Kind.SERVICE
    ]
    posts.sort(key=lambda post: (post.date, post.key))
    newest = posts[-1].date
    hours = Counter(post.date // HOUR for post in posts if post.date > newest - 24 * HOUR)
    hour = max(hours, key=lambda hour: hours[hour])
    yield f"{POSTS} posts from {_time(hour * HOUR)} UTC on"
    for post in [post for post in posts if post.date >= hour * HOUR][:POSTS]:
        forwarded_text = f" · forwarded from {post.root.channel.title}" if post.root is not post else ""
        yield from _describe_post(demo, post, f"{post.channel.title} · {_time(post.date)}{forwarded_text}")
    yield f"\n\n{STORIES} stories\n"
    by_story: dict[str, list[Planned]] = {}
    for post in posts:
        if post.story is not None:
            by_story.setdefault(post.story.story_id, []).append(post)
    threads = sorted(
        by_story.values(),
        key=lambda thread: (-len({post.role for post in thread}), -len(thread), thread[0].key),
    )
    for thread in threads[:STORIES]:
        yield from _thread(demo, thread)


def _thread(demo: Demo, thread: list[Planned]) -> Iterator[str]:
    story = thread[0].story
    assert story is not None
    named_text = ", ".join(entity["en"] for entity in entities(story.values))
    yield f"\n{'═' * 72}\n{story.event.name} ({story.event.topic}): {named_text}; {len(thread)} posts" + (
        ", a burst" if story.burst else ""
    )
    roles: set[str] = set()
    for post in thread:
        title = f"{post.role.value} · {post.channel.title} · {_time(post.date)}" + (
            " · CONTRADICTS" if post.wrong or post.denies else ""
        )
        if post.role.value in roles:
            yield f"{LINE}\n{title}"
        else:
            yield from _describe_post(demo, post, title)
        roles.add(post.role.value)


def _describe_post(demo: Demo, post: Planned, title: str) -> Iterator[str]:
    yield f"{LINE}\n{title}" + (f" · [{post.shows.value}]" if post.shows is not Shows.NOTHING else "")
    text = text_of(post, version_at(post, int(demo.clock())), site=demo.site).text
    if text:
        yield text


def _time(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%d.%m. %H:%M")
