"""Answers that stories give: today's news, who reported something first, when, and how many channels did."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, tzinfo

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.stories.visible import VisiblePost, VisibleStory
from telegram_assistant.errors import Missing
from telegram_assistant.features.ask.answers import Answer, AnswerSentence, Outcome, Passage
from telegram_assistant.features.ask.days import bounds_of, days_reason
from telegram_assistant.features.stories.stories import recent_stories, visible_story
from telegram_assistant.features.stories.telling import summary_of, words_of
from telegram_assistant.language.questions.periods import Period
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores
from telegram_assistant.stores.postgres.stories.own_stories import MAX_CANDIDATES

MAX_STORIES = 5
_NEWS = re.compile(
    r"\W*(?:(?:а|и|and|so)\s+)?"
    r"(?:что\s+(?:нового|интересного|важного|слышно|было|случилось|произошло|происходит)|"
    r"что\s+я\s+пропустила?|(?:какие\s+)?(?:главные\s+)?новости|"
    r"what(?:['’]?s|\s+is)\s+(?:new|happening|going\s+on)|what\s+(?:has\s+)?happened|what\s+did\s+i\s+miss|"
    r"what\s+should\s+i\s+know|(?:any|the|main|latest)?\s*news)\W*",
    re.IGNORECASE,
)
_ABOUT = r"(?:\s+(?:об?|обо|про)\b)?"
_REPORTED = r"(?:сообщ\w+|написа\w+|рассказ\w+|писа\w+|пиш\w+)"
_REPORTS = r"(?:report(?:s|ed)?|writ(?:e|es|ten)\s+about|wrote\s+about|mention(?:s|ed)?)"
_FIRST = re.compile(
    rf"\bкто\s+(?:первым|первый|раньше\s+всех)\s+{_REPORTED}{_ABOUT}|"
    rf"\bкогда\s+(?:впервые\s+|первый\s+раз\s+)?(?:каналы\s+)?{_REPORTED}{_ABOUT}|"
    rf"\bсколько\s+(?:каналов|постов|раз)\s+{_REPORTED}{_ABOUT}|"
    rf"\bкакие\s+каналы\s+{_REPORTED}{_ABOUT}|"
    rf"\bwho\s+(?:was\s+(?:the\s+)?first\s+to\s+{_REPORTS}|first\s+{_REPORTS})\b|"
    rf"\bwhen\s+(?:did\s+(?:the\s+|my\s+)?channels\s+(?:first\s+)?{_REPORTS}|was\s+it\s+first\s+reported)\b|"
    rf"\b(?:how\s+many|which)\s+(?:channels|posts)\s+(?:have\s+)?{_REPORTS}\b",
    re.IGNORECASE,
)


def asks_for_news(question: str) -> bool:
    return _NEWS.fullmatch(question) is not None


def cut_first(question: str) -> str | None:
    """The subject whose first report the question asks for; None if it asks for something else."""
    match = _FIRST.search(question)
    return None if match is None else f"{question[: match.start()]} {question[match.end() :]}".strip()


async def answer_with_news(
    question: str,
    period: Period | None,
    *,
    stores: TenantStores,
    own: PersonStores | None,
    now: datetime,
    zone: tzinfo,
    language: str | None,
) -> Answer:
    """The weightiest stories of these days, or of today, each in words of its newest state and in this
    language if a post is in it. Leaves out what the reader has muted.
    """
    today = now.astimezone(zone).date()
    days = period or Period(today, today)
    since, until = bounds_of(days, zone)
    recent = await recent_stories(
        since,
        stores=stores,
        now=now,
        mutes=await own.choices.mutes() if own is not None else None,
        language=language,
        limit=MAX_STORIES if until > now else MAX_CANDIDATES,
    )
    stories = [
        replace(story, posts=tuple(post for post in story.posts if post.posted_at < until))
        for story in (listed_story.story for listed_story in recent.stories)
        if any(since <= post.posted_at < until for post in story.posts)
    ]
    lines = await asyncio.to_thread(
        lambda: [_newest_line(story, since, language) for story in stories[:MAX_STORIES]]
    )
    return Answer(
        question=question,
        outcome=Outcome.ANSWERED if lines else Outcome.NOTHING,
        sentences=tuple(AnswerSentence(text, (line_index,)) for line_index, (text, _) in enumerate(lines)),
        passages=tuple(_passage(post) for _, post in lines),
        notice=_news_notice(days, today, zone, has_stories=bool(lines)),
    )


def _newest_line(story: VisibleStory, since: datetime, language: str | None) -> tuple[str, VisiblePost]:
    """A sentence since then, and the post that says it: the headline, the latest news, or the first words."""
    summary = summary_of(story, language=language)
    posts = {post.post_id: post for post in story.posts}
    for sentence in (summary.headline, summary.latest) if summary is not None else ():
        if sentence is not None and posts[sentence.posts[0]].posted_at >= since:
            return sentence.text, posts[sentence.posts[0]]
    recent = [post for post in story.posts if post.posted_at >= since]
    best_post = min(
        recent,
        key=lambda post: (
            post.deleted_at is not None or post.is_ad,
            language is not None and post.language != language,
            story.repeats(post),
            post.place,
        ),
    )
    return words_of(best_post), best_post


def _news_notice(days: Period, today: date, zone: tzinfo, *, has_stories: bool) -> Reason:
    if days == Period(today, today):
        return _NEWS_TODAY if has_stories else _NO_NEWS
    days_text = days_reason(days, zone)
    if has_stories:
        return Reason("ask_news_then", "your channels' main stories {when}, each with a post", when=days_text)
    return Reason(
        "ask_no_news_then", "several of your channels have not reported the same story {when}", when=days_text
    )


async def answer_with_first(
    question: str, about: Sequence[Passage], every: Sequence[Passage], *, stores: TenantStores
) -> Answer | None:
    """Answers who reported it first, when, and how many channels did.

    The answer comes from the story of the posts `about` it, or else from the list of `every` post with its
    names and words. Returns None if no post is `about` it.
    """
    if not about:
        return None
    try:
        story = await visible_story(about[0].post_id, stores=stores)
    except Missing:
        return _answer_with_list(question, every)
    if {passage.post_id for passage in about} - {post.post_id for post in story.posts}:
        return _answer_with_list(question, every)
    channels = story.first_of_channels
    return Answer(
        question=question,
        outcome=Outcome.ANSWERED,
        sentences=(AnswerSentence(words_of(story.first), (0,)),),
        passages=tuple(map(_passage, (story.first, *channels[1:MAX_STORIES]))),
        notice=Reason(
            "ask_story_first",
            "as far as your channels show, {channel} reported this first, on {at:%-d %B, %H:%M}; {count} "
            "channel reports it; in their own words: {wordings}",
            "as far as your channels show, {channel} reported this first, on {at:%-d %B, %H:%M}; {count} "
            "channels report it; in their own words: {wordings}",
            count=len(channels),
            wordings=story.wording_count,
            channel=story.first.channel,
            at=story.first.posted_at,
        ),
    )


def _answer_with_list(question: str, every: Sequence[Passage]) -> Answer:
    """The earliest of the posts, and the first one of each further channel."""
    posts = sorted(every, key=lambda passage: (passage.posted_at, passage.post_id))
    first_of_channels: dict[ChannelId, Passage] = {}
    for passage in posts:
        first_of_channels.setdefault(passage.post_id.channel_id, passage)
    first_post, channel_count = posts[0], len(first_of_channels)
    notice = (
        Reason(
            "ask_only_channel",
            "as far as your channels show, only {channel} reports this, first on {at:%-d %B, %H:%M}; "
            "{count} post is about it",
            "as far as your channels show, only {channel} reports this, first on {at:%-d %B, %H:%M}; "
            "{count} posts are about it",
            count=len(posts),
            channel=first_post.channel,
            at=first_post.posted_at,
        )
        if channel_count == 1
        else Reason(
            "ask_list_first",
            "{count} post of {channels} channels is about this; the earliest is from {channel}, on "
            "{at:%-d %B, %H:%M}. They may be about several events",
            "{count} posts of {channels} channels are about this; the earliest is from {channel}, on "
            "{at:%-d %B, %H:%M}. They may be about several events",
            count=len(posts),
            channels=channel_count,
            channel=first_post.channel,
            at=first_post.posted_at,
        )
    )
    return Answer(
        question=question,
        outcome=Outcome.ANSWERED,
        sentences=(AnswerSentence(first_post.text, (0,)),),
        passages=tuple(first_of_channels.values())[:MAX_STORIES],
        notice=notice,
    )


async def add_newest(answer: Answer, *, stores: TenantStores, language: str | None) -> Answer:
    """The answer with the newest state of its story, where a later post than those it cites changed it."""
    cited_passages = [
        answer.passages[passage_index] for sentence in answer.sentences for passage_index in sentence.passages
    ]
    try:
        story = await visible_story(cited_passages[0].post_id, stores=stores)
    except Missing:
        return answer
    summary = await asyncio.to_thread(summary_of, story, language=language)
    posts = {post.post_id: post for post in story.posts}
    if (
        summary is None
        or summary.state_at is None
        or any(cited_post.post_id not in posts for cited_post in cited_passages)
    ):
        return answer
    changed_post = posts[summary.headline.posts[0]]
    if changed_post.posted_at <= max(passage.posted_at for passage in cited_passages):
        return answer
    return replace(
        answer,
        passages=(*answer.passages, _passage(changed_post)),
        newest=AnswerSentence(summary.headline.text, (len(answer.passages),)),
    )


def _passage(post: VisiblePost) -> Passage:
    return Passage(
        post_id=post.post_id,
        channel=post.channel,
        link=post.link,
        posted_at=post.posted_at,
        text=words_of(post),
        copies=0,
    )


_NEWS_TODAY = Reason("ask_news", "your channels' main stories of today, each with a post")
_NO_NEWS = Reason("ask_no_news", "several of your channels have not reported the same story today")
