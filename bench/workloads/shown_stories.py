"""Stories of a labelled world as a reader is shown them by default, from stored links,
and how many of the joins that are shown are right.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from statistics import fmean

import asyncpg

from bench.workloads.story_world import LabelledPost
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.posts.near_copies import fold_text
from telegram_assistant.domain.stories.story import Link, LinkKind
from telegram_assistant.domain.stories.visible import Grouping, VisiblePost, VisibleStory, stories_of
from telegram_assistant.language.sentences import split_sentences

MIN_SAYING = 4
"""Words of a sentence that channels do not say by chance."""
JUDGED_JOINS = (LinkKind.COPY, LinkKind.REWRITE, LinkKind.TRANSLATION)


async def load_links(admin: "asyncpg.Connection[asyncpg.Record]") -> list[Link]:
    """All links that are stored."""
    rows = await admin.fetch("SELECT * FROM story_links")
    return [
        Link(
            PostId(ChannelId(row["channel_id"]), MessageId(row["message_id"])),
            PostId(ChannelId(row["other_channel_id"]), MessageId(row["other_message_id"])),
            LinkKind(row["kind"]),
            row["score"],
            row["posted_at"],
            row["other_posted_at"],
            row["is_leaf"],
        )
        for row in rows
    ]


def show_stories(
    posts: Sequence[LabelledPost],
    story_ids: Mapping[PostId, object],
    links: Collection[Link],
    grouping: Grouping = Grouping.NORMAL,
) -> list[VisibleStory]:
    """The stories of somebody who sees all posts. `story_ids` are of the stored stories."""
    members: dict[object, list[VisiblePost]] = defaultdict(list)
    for post in posts:
        members[story_ids.get(post.post.id, post.post.id)].append(_make_visible(post))
    joining: dict[object, list[Link]] = defaultdict(list)
    for link in links:
        if link.post in story_ids and story_ids[link.post] == story_ids.get(link.other):
            joining[story_ids[link.post]].append(link)
    return [
        story
        for story_id, its in members.items()
        for story in stories_of(its, joining.get(story_id, ()), grouping)
    ]


def _make_visible(labelled: LabelledPost) -> VisiblePost:
    post = labelled.post
    return VisiblePost(
        post_id=post.id,
        channel=labelled.username,
        username=labelled.username or None,
        posted_at=post.posted_at,
        stored_at=post.posted_at,
        text=post.text,
        is_private=labelled.is_private,
        language=post.lang,
        grouped_id=post.grouped_id,
    )


def _truth_of(post: LabelledPost) -> object:
    """Of what channels say between stories, the first sentence: with another one behind it,
    it is the same saying.
    """
    first = next(iter(split_sentences(post.post.text)), "")
    is_saying = post.planned.filling is not None and len(first.split()) >= MIN_SAYING
    return fold_text(first) if is_saying else post.truth


def judge_joins(posts: Sequence[LabelledPost], stories: Collection[VisibleStory]) -> dict[str, float]:
    """The share of joins of each kind that are right, with their number, and of stories of several channels
    those that tell more than one thing.
    """
    truths = {post.post.id: _truth_of(post) for post in posts}
    right: dict[LinkKind, list[bool]] = {kind: [] for kind in JUDGED_JOINS}
    for story in stories:
        for post, link in story.follows.items():
            if link.kind in right:
                right[link.kind].append(truths[post] == truths[link.other])
    several = [story for story in stories if len(story.channel_ids) > 1]
    impure = Counter(len({truths[post.post_id] for post in story.posts}) > 1 for story in several)
    return {
        **{f"join_right_{kind}": round(fmean(joins or [True]), 4) for kind, joins in right.items()},
        **{f"joins_{kind}": len(joins) for kind, joins in right.items()},
        "impure_stories": round(impure[True] / max(len(several), 1), 4),
        "stories_of_channels": len(several),
    }
