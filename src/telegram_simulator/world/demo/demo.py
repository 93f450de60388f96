"""The demo world itself: its channels with their past, what is still to come,
and what is true of every post.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from telegram_simulator.world.article import Article, Press
from telegram_simulator.world.chance import Lot
from telegram_simulator.world.channel import Channel, Edited
from telegram_simulator.world.demo.articles import article_of, page_truth
from telegram_simulator.world.demo.links import SITE, Link, link_of, read_page_id
from telegram_simulator.world.demo.media import media_of
from telegram_simulator.world.demo.packs import Manner, packs
from telegram_simulator.world.demo.plan import DAY, Kind, Planned, Role, Story
from telegram_simulator.world.demo.texts import text_of
from telegram_simulator.world.demo.timeline import Act, DayPlan, Happening, Timeline, plan_day
from telegram_simulator.world.demo.truth import about, story_truth
from telegram_simulator.world.post import Origin, Post, Service

FIRST_DEMO_CHANNEL = 1_600_000_000
SPACING = 7919
BESIDE, FRONT = 3, 24
"""How many other articles a page names, and how many the front page."""
DAYS = {"demo": 14, "measuring": 49}
"""How far back each size reaches."""
MAX_COMMENTS = 900
REACTIONS = {
    Kind.NEWS: ("👍", "😢", "🤔", "🔥"),
    Kind.OPINION: ("❤️", "👍", "😁", "🤔"),
    Kind.ADVERTISING: ("👎", "👍", "😁", "🔥"),
    Kind.SERVICE: (),
}


class Demo:
    """One demo world. History ends at `present`; what is planned after it happens when `clock` comes to it.

    With `steps` the plan goes on step by step instead: they are the moments at which it already did.
    """

    def __init__(
        self,
        *,
        seed: int,
        present: int,
        clock: Callable[[], float],
        days: int = DAYS["demo"],
        site: str = SITE,
        steps: Sequence[int] | None = None,
        manners: Sequence[Manner] | None = None,
        plan: DayPlan = plan_day,
    ) -> None:
        self.site = site
        """The address of the site with the articles that posts link to."""
        self.clock = clock
        self.begins = present - days * DAY
        self.timeline = Timeline(seed, self.begins, plan)
        self.ids: dict[int, int] = {}
        """The message ids of published posts, by the plan's keys."""
        self._dates: dict[int, int] = {}
        """The dates of posts published at another time than planned, by the plan's keys."""
        self._posts: list[Planned] = []
        self._stories: dict[int, Story] = {}
        """The stories that have begun, by their number and in the order of time."""
        self._lot = Lot(seed, "demo")
        self.pasts = [DemoPast(self, manner) for manner in manners or packs().channels]
        changes: list[Happening] = []
        past = self.timeline.until(int(clock()) if steps is None else present)
        for happening in chain(past, *(self.step(at) for at in steps or ())):
            if happening.act is Act.POST:
                self.publish(happening.post, len(self.pasts[happening.post.channel.index].posts) + 1)
            else:
                changes.append(happening)
        self.channels = [past.channel() for past in self.pasts]
        for happening in changes:
            self._apply(happening)

    def step(self, at: int) -> Iterator[Happening]:
        """The next events of the plan, moved to `at`."""
        for happening in self.timeline.following():
            if happening.act is Act.POST:
                self._dates[happening.post.key] = at
            yield happening._replace(at=at)

    def date_of(self, post: Planned) -> int:
        return self._dates.get(post.key, post.date)

    def publish(self, post: Planned, message_id: int) -> int:
        """Publishes a planned post under that id. Returns its number among the channel's posts."""
        past = self.pasts[post.channel.index]
        past.posts.append(post)
        self._posts.append(post)
        self.ids[post.key] = message_id
        if post.story is not None and post.story.number not in self._stories:
            late = self.date_of(post) - post.date
            self._stories[post.story.number] = (
                replace(post.story, begins=post.story.begins + late) if late else post.story
            )
        return len(past.posts) - 1

    def channel_of(self, post: Planned) -> Channel:
        return self.channels[post.channel.index]

    def stories(self) -> Iterator[dict[str, Any]]:
        """Every story that has begun, with all its posts so far."""
        by_story: dict[int, list[Planned]] = {}
        for post in self._posts:
            if post.story is not None:
                by_story.setdefault(post.story.number, []).append(post)
        for posts in by_story.values():
            yield story_truth(posts, self.where)

    def press(self) -> Press:
        return Press(self.page, self.newest, self.pages)

    def page(self, page_id: str) -> Article | None:
        """The article of that id, once its story has begun."""
        number, language = read_page_id(page_id) or (0, "")
        story = self._stories.get(number)
        if story is None:
            return None
        earlier_stories = (
            other
            for other in reversed(self._stories.values())
            if other.event.topic == story.event.topic and other.begins < story.begins
        )
        return article_of(Link(story, language), self.site, list(islice(earlier_stories, BESIDE)))

    def newest(self, language: str) -> list[Article]:
        articles = (
            article_of(Link(story, language), self.site)
            for story in islice(reversed(self._stories.values()), FRONT)
        )
        return sorted(articles, key=lambda article: article.published, reverse=True)

    def pages(self) -> Iterator[dict[str, Any]]:
        """Every page that a post links to, with what is written there."""
        links = {link.page_id: link for post in self._posts if (link := link_of(post)) is not None}
        for link in links.values():
            yield page_truth(article_of(link, self.site), at_length=True)

    def where(self, post: Planned) -> tuple[int, int] | None:
        """Channel and message, once it was posted."""
        message_id = self.ids.get(post.key)
        return None if message_id is None else (channel_id_of(post.channel), message_id)

    def counts(self, post: Planned) -> tuple[int, int, int | None, tuple[tuple[str, int], ...]]:
        """Views, forwards, comments and reactions: they grow for two days and are drawn once."""
        reach, forwards, comments, liking, *_ = (number / 2**32 for number in self._lot.sixteen(0, post.key))
        age_seconds = max(self.clock() - self.date_of(post), 1.0)
        view_count = (
            int(post.channel.members * (0.08 + 0.3 * reach * reach) * (1 - math.exp(-age_seconds / 20_000)))
            + 1
        )
        emoji = REACTIONS[post.kind] if liking > 0.3 else ()
        reactions = tuple(
            (symbol, count)
            for index, symbol in enumerate(emoji)
            if (count := int(view_count * 0.01 * liking / (index + 1) ** 2))
        )
        comment_count = (
            min(int(view_count * 0.004 * comments), MAX_COMMENTS) if post.channel.index % 5 else None
        )
        return view_count, int(view_count * 0.02 * forwards), comment_count, reactions

    def _apply(self, happening: Happening) -> None:
        """An edit or a deletion of the past, told to nobody."""
        channel, message_id = self.channel_of(happening.post), self.ids[happening.post.key]
        if happening.act is Act.EDIT:
            channel.rewrite(message_id, happening.at)
        else:
            channel.delete([message_id], happening.at)


def channel_id_of(manner: Manner) -> int:
    return FIRST_DEMO_CHANNEL + manner.index * SPACING


class DemoPast:
    """One channel's posts so far. Its first is the message that it was created."""

    def __init__(self, demo: Demo, manner: Manner) -> None:
        self.manner = manner
        created = Planned(-1 - manner.index, manner, demo.begins, Role.NONE, Kind.SERVICE, manner.topics[0])
        self.posts: list[Planned] = [created]
        self._demo = demo

    def channel(self) -> Channel:
        manner = self.manner
        new_channel = Channel(
            channel_id_of(manner),
            title=manner.title,
            username=manner.name or None,
            created=self._demo.begins,
            past=self,
            past_count=len(self.posts),
        )
        new_channel.members, new_channel.invite, new_channel.protected = (
            manner.members,
            manner.invite or None,
            bool(manner.invite),
        )
        return new_channel

    def date(self, number: int) -> int:
        return self._demo.date_of(self.posts[number])

    def edit(self, number: int, version: int) -> Edited:
        return text_of(self.posts[number], version, site=self._demo.site)

    def about(self, number: int) -> dict[str, Any]:
        return about(self.posts[number], self._demo.where, self._demo.site)

    def post(self, number: int, message_id: int) -> Post:
        post, demo = self.posts[number], self._demo
        date = demo.date_of(post)
        if post.kind is Kind.SERVICE:
            is_pinned = number > 0
            service, text = (Service.PINNED, "") if is_pinned else (Service.CREATED, self.manner.title)
            return Post(
                message_id=message_id,
                date=date,
                text=text,
                service=service,
                reply_to=message_id - 1 if is_pinned else None,
            )
        written_text = text_of(post, 0, site=demo.site)
        view_count, forward_count, comment_count, reactions = demo.counts(post)
        return Post(
            message_id=message_id,
            date=date,
            text=written_text.text,
            entities=written_text.entities,
            media=media_of(post, site=demo.site),
            origin=self._origin(post),
            reply_to=self._reply(post),
            grouped_id=self._album(post),
            views=view_count,
            forwards=forward_count,
            comments=comment_count,
            reactions=reactions,
        )

    def _origin(self, post: Planned) -> Origin | None:
        root = post.root
        root_place = self._demo.where(root)
        return (
            Origin(*root_place, self._demo.date_of(root))
            if root is not post and root_place is not None
            else None
        )

    def _reply(self, post: Planned) -> int | None:
        """The message id of the earlier post of the same channel that a follow-up replies to."""
        is_own = (
            post.role is Role.FOLLOW_UP
            and post.source is not None
            and post.source.channel is post.channel
            and (post.planted is None or post.planted.is_reply)
        )
        return self._demo.ids.get(post.source.key) if is_own and post.source is not None else None

    def _album(self, post: Planned) -> int | None:
        first_key = post.key - post.part
        return first_key * 0x9E3779B97F4A7C15 & (2**62 - 1) if post.parts > 1 else None
