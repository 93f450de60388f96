"""Real posts through the real stages, without any model: what a reader who follows all channels is shown by
default, counted, and written down for a person to read.

The file has a JSON object a line: lang, source, id, date, text, entities, label. It is not part of the
project, and nothing of its texts is printed; `--show FOLDER` writes them for reading. `torn` are stored
stories that are shown in several pieces. `lonely` are posts that no story shows beside another one.
`ads_recall` is of posts that the file labels or law marks as advertising; the label is noisy.
`headline_repeated` are entries of digests whose first sentence has most of the headline's words, or the
headline most of its; `boilerplate` are sentences that advertise the channel itself, and those that two
entries of one digest share. A day with fewer than 50 posts has no digest.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.studies.stories import connect
from bench.workloads.real_posts import RealPost, follow_channels, read_posts, split_by_day, understand_posts
from telegram_assistant.ai.outputs import Tags
from telegram_assistant.assembly import App, assemble
from telegram_assistant.documents.writing import write_plain
from telegram_assistant.domain.digests.digest import Digest, DigestStory
from telegram_assistant.domain.ids import PostId, TenantId
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.features.digests.document import digest_document
from telegram_assistant.features.posts.habits import learn_channel_habits
from telegram_assistant.features.stories.telling import summary_of
from telegram_assistant.language.lemmas import lemmas_in
from telegram_assistant.summaries.values import StorySummary
from testkit.harness import arguments, at_least, finish, own_cpu_seconds, own_database

DAY, REMEMBERED = timedelta(days=1), timedelta(days=7)
MIN_POSTS = 50
SHOWN_STORIES, SHOWN_LINES, SHOWN_DIGESTS, SHOWN_POSTS, SEED = 100, 40, 6, 120, 20261118
REPEATED_SHARE = 0.6
MIN_SAME_WORDS = 3
BOILERPLATE = re.compile(
    r"https?://|\bt\.me/|\b[\w-]+\.(?:ru|com|org|net|ly|cc|me)/\S|(?<!\w)@\w{4,}"
    r"|\bподпис(?:ы?вай|аться|ывайся|ывайтесь|ались|ка на (?:канал|нас))"
    r"|\b(?:наш|нашем|нашего) (?:канал|чат|бот)|прислать новость|чита(?:ть|йте) нас|без vpn"
    r"|\bsubscribe\b|\bfollow us\b|\bjoin (?:our|us)\b",
    re.IGNORECASE,
)
LIMITS = at_least(1, "posts")


@dataclass(slots=True)
class Shown:
    """The digests and stories that a reader sees, and the tags of the posts."""

    tags: dict[PostId, Tags] = field(default_factory=dict)
    digests: list[Digest] = field(default_factory=list)
    stories: list[tuple[VisibleStory, StorySummary | None]] = field(default_factory=list)
    """Stories of several channels, with their summaries."""
    torn: int = 0
    grouped_posts: int = 0
    """Posts that a story shows beside another one."""


async def show_days(app: App, tenant_id: TenantId, posts: Sequence[RealPost], admin: Any) -> Shown:
    """Understands the posts day by day, and makes a digest at the end of each."""
    view = Shown()
    await follow_channels(app, admin, tenant_id, posts)
    for days_posts in split_by_day(posts):
        view.tags |= await understand_posts(app, admin, days_posts)
        if len(days_posts) >= MIN_POSTS:
            now = days_posts[-1].post.posted_at
            await learn_channel_habits(habits=app.tenant(tenant_id).habits, now=now)
            since = datetime.combine(days_posts[0].post.posted_at.date(), datetime.min.time(), UTC)
            recent = [digest for digest in reversed(view.digests) if digest.until > since - REMEMBERED]
            view.digests.append(
                await compose(since, stores=app.tenant(tenant_id), now=since + DAY, earlier_digests=recent)
            )
    return view


async def show_stories(app: App, tenant_id: TenantId, posts: Sequence[RealPost], view: Shown) -> None:
    """Every stored story of several posts, as the tenant sees it."""
    stored = await app.system.stories.of_posts([post.post.id for post in posts])
    sizes, stores, seen = Counter(stored.values()), app.tenant(tenant_id), set[object]()
    for post_id, story_id in stored.items():
        if sizes[story_id] < 2 or story_id in seen:
            continue
        seen.add(story_id)
        pieces = list((await stores.stories.around(post_id)).stories())
        view.torn += len(pieces) > 1
        for story in pieces:
            view.grouped_posts += len(story.posts) if len(story.posts) > 1 else 0
            if len(story.channel_ids) > 1:
                view.stories.append((story, await asyncio.to_thread(summary_of, story)))


def repeats_headline(story: DigestStory) -> bool:
    if not story.sentences:
        return False
    headline, sentence = set(lemmas_in(story.headline)), set(lemmas_in(story.sentences[0].text))
    shared = len(headline & sentence)
    return shared >= MIN_SAME_WORDS and shared >= REPEATED_SHARE * min(len(headline), len(sentence))


def boilerplate_in(digest: Digest) -> Iterator[str]:
    """Sentences that say nothing, and those that stand in two entries."""
    entries = [{story.headline, *(sentence.text for sentence in story.sentences)} for story in digest.stories]
    entries_of = Counter(sentence for sentences in entries for sentence in sentences)
    for sentence, count in entries_of.items():
        if count > 1 or BOILERPLATE.search(sentence):
            yield sentence


def figures(posts: Sequence[RealPost], view: Shown) -> dict[str, Any]:
    ads = {post_id for post_id, tags in view.tags.items() if tags.is_ad}
    true_ads = {post.post.id for post in posts if post.is_advertising}
    entries = [story for digest in view.digests for story in digest.stories]
    with_text = [post for post in posts if post.post.text.strip()]
    right = [
        view.tags[post.post.id].language == post.language for post in with_text if post.post.id in view.tags
    ]
    summaries = [summary for _, summary in view.stories if summary is not None]
    return {
        "posts": len(posts),
        "channels": len({post.channel for post in posts}),
        "stories": len(view.stories),
        "dispute_marks": sum(len(summary.disputed) for summary in summaries),
        "stories_with_disputes": sum(bool(summary.disputed) for summary in summaries),
        "states": sum(summary.state_at is not None for summary in summaries),
        "torn": view.torn,
        "lonely": len(posts) - view.grouped_posts,
        "ads": len(true_ads),
        "ads_found": len(ads),
        "ads_recall": round(len(ads & true_ads) / max(1, len(true_ads)), 3),
        "language_right": round(sum(right) / max(1, len(right)), 4),
        "digests": len(view.digests),
        "digest_entries": len(entries),
        "headline_repeated": sum(map(repeats_headline, entries)),
        "boilerplate": sum(1 for digest in view.digests for _ in boilerplate_in(digest)),
    }


def write_shown(folder: Path, posts: Sequence[RealPost], view: Shown) -> None:
    """Files for a person to read; the same run writes the same ones."""
    folder.mkdir(parents=True, exist_ok=True)
    rng, by_place = random.Random(SEED), sorted(view.stories, key=lambda pair: pair[0].first.place)
    sample = sorted(
        rng.sample(by_place, min(SHOWN_STORIES, len(by_place))), key=lambda pair: pair[0].first.place
    )
    own_words = [text for story, summary in by_place for text in _own_words_texts(story, summary)]
    names = [post for post in posts if post.post.id in view.tags and view.tags[post.post.id].entities]
    for name, parts in (
        ("stories", [_story_text(story, summary) for story, summary in sample]),
        ("disputes", [text for story, summary in by_place if (text := _dispute_text(story, summary))]),
        ("states", [text for story, summary in by_place if (text := _state_text(story, summary))]),
        ("own_words", rng.sample(own_words, min(SHOWN_LINES, len(own_words)))),
        ("digests", map(_digest_text, view.digests[:SHOWN_DIGESTS])),
        ("ads", [_ad_text(post, view.tags[post.post.id]) for post in posts if post.post.id in view.tags]),
        (
            "names",
            [
                _names_text(post, view.tags[post.post.id])
                for post in rng.sample(names, min(SHOWN_POSTS, len(names)))
            ],
        ),
    ):
        text = "\n\n".join(part for part in parts if part)
        (folder / f"{name}.txt").write_text(f"{text}\n", encoding="utf-8")


def _posts_text(story: VisibleStory) -> str:
    return "\n".join(
        f"  [{post.posted_at:%d.%m %H:%M}] {post.channel}: {' '.join(post.text.split())}"
        for post in story.posts
    )


def _story_text(story: VisibleStory, summary: StorySummary | None) -> str:
    headline = summary.headline.text if summary is not None else "-"
    sentences = [f"  * {sentence.text}" for sentence in summary.sentences] if summary is not None else []
    return "\n".join((f"# {headline}", *sentences, _posts_text(story)))


def _dispute_text(story: VisibleStory, summary: StorySummary | None) -> str:
    if summary is None or not summary.disputed:
        return ""
    marks = [
        f"# {dispute.sentence.text} | {dispute.stands.number} | "
        f"{', '.join(claim.number for claim in dispute.others)}"
        for dispute in summary.disputed
    ]
    return "\n".join((*marks, _posts_text(story)))


def _state_text(story: VisibleStory, summary: StorySummary | None) -> str:
    if summary is None or summary.state_at is None or summary.before is None:
        return ""
    changed = f"# {summary.state_at:%d.%m %H:%M} {summary.headline.text}"
    return "\n".join((changed, f"# before: {summary.before.text}", _posts_text(story)))


def _own_words_texts(story: VisibleStory, summary: StorySummary | None) -> Iterator[str]:
    """Lines that several owners of channels say in their own words, each with the posts that say it."""
    texts = {post.post_id: post for post in story.posts}
    lines = () if summary is None else (summary.headline, *summary.sentences)
    for line in lines:
        if line.wordings > 1:
            posts = [texts[post_id] for post_id in line.posts]
            quoted = (f"  {post.channel}: {' '.join(post.text.split())}" for post in posts)
            yield "\n".join((f"# {line.wordings} of {len(posts)}: {line.text}", *quoted))


def _digest_text(digest: Digest) -> str:
    return write_plain(digest_document(digest, language="ru", zone=UTC, story_link=str, post_link=str))


def _ad_text(post: RealPost, tags: Tags) -> str:
    if not tags.is_ad and not post.is_advertising:
        return ""
    sort = ("found" if post.is_advertising else "found, not labelled") if tags.is_ad else "missed"
    return f"# {sort} | {post.label} | {post.channel} | {' '.join(post.post.text.split())}"


def _names_text(post: RealPost, tags: Tags) -> str:
    names = ", ".join(f"{entity.text}/{entity.kind.value}" for entity in tags.entities)
    return f"# {names}\n  {post.channel}: {' '.join(post.post.text.split())}"


async def measure(file: Path, folder: Path | None) -> dict[str, Any]:
    posts = read_posts(file)
    async with own_database("tga_bench_real") as settings, assemble(settings) as app:
        admin, tenant = await connect(settings), await app.system.tenants.ensure("bench")
        view = await show_days(app, tenant.tenant_id, posts, admin)
        await show_stories(app, tenant.tenant_id, posts, view)
        await admin.close()
    if folder is not None:
        write_shown(folder, posts, view)
    return {"bench": "real", **figures(posts, view), "cpu": round(own_cpu_seconds(), 1)}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--posts", type=Path, required=True, help="JSON lines, perhaps packed by gzip")
    parser.add_argument("--show", type=Path, metavar="FOLDER", help="write what is shown, for reading")
    options = parser.parse_args()
    finish(asyncio.run(measure(options.posts, options.show)), options, *LIMITS)


if __name__ == "__main__":
    main()
