"""Daily digests over thirty days of the measuring world: nothing twice, nothing of high interest missed,
corrections told.

A person follows all channels and cares for a few kinds of events, by their names. Every day the posts of the
day are stored and grouped, and the first post of a story that was told is deleted. `repeated`: sentences or
stories that an earlier digest told, without a change. `missed`: stories that began that day, by the world's
truth, in at least two channels, every post of which touches an interest, and of which no digest tells a post.
`corrections_missed`: deletions that the next digest does not tell, or cites. Nothing was fitted to this.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg

from bench.studies.stories import BATCH, connect
from bench.workloads.story_world import LabelledPost, land, world
from telegram_assistant.assembly import App, assemble
from telegram_assistant.documents.writing import write_plain
from telegram_assistant.domain.digests.digest import Digest, DigestStory, Novelty
from telegram_assistant.domain.digests.interests import MAX_WEIGHT, Interest, InterestSource
from telegram_assistant.domain.digests.plan import DigestLength
from telegram_assistant.domain.ids import ChannelId, PostId, TenantId
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.features.digests.document import digest_document
from telegram_assistant.features.digests.interests import match_interests
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from testkit.harness import arguments, at_least, at_most, finish, own_cpu_seconds, own_database

DAY, REMEMBERED = timedelta(days=1), timedelta(days=7)
TOPICS = ("мост", "bridge", "пожар", "fire")
LIMITS = (
    *at_most(0, "repeated", "missed", "corrections_missed"),
    *at_least(1, "interesting", "corrections"),
    *at_most(30, "seconds_per_digest"),
)


@dataclass(slots=True)
class Judged:
    """The digests of a run, and the counts of their mistakes."""

    digests: list[Digest] = field(default_factory=list)
    repeated: int = 0
    missed: int = 0
    interesting: int = 0
    corrections: int = 0
    corrections_missed: int = 0
    cpu: float = 0.0
    novelties: Counter[str] = field(default_factory=Counter)

    def recent_digests(self, now: datetime) -> list[Digest]:
        return [digest for digest in reversed(self.digests) if digest.until > now - REMEMBERED]


async def store(
    app: App,
    admin: "asyncpg.Connection[asyncpg.Record]",
    tenant_id: TenantId,
    posts: Sequence[LabelledPost],
    known: set[ChannelId],
) -> None:
    """Stores and groups the posts as if it were their day."""
    await land(app, posts)
    for channel_id in {post.post.channel_id for post in posts} - known:
        await app.system.channels.subscribe(
            tenant_id, Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS)
        )
        known.add(channel_id)
    await admin.execute("UPDATE subscriptions SET created_at = '2020-01-01', visible_from = '2020-01-01'")
    await admin.execute(
        "UPDATE posts SET stored_at = posted_at + interval '1 minute' "
        "WHERE stored_at > now() - interval '1 day'"
    )
    for start in range(0, len(posts), BATCH):
        batch = posts[start : start + BATCH]
        await app.story_builder.group([post.post.id for post in batch], now=batch[-1].post.posted_at)


def count_repeated(story: DigestStory, earlier: Sequence[Digest]) -> int:
    """Counts the sentences of a story that an earlier digest has, and one more if the story is wrongly new.

    A corrected story counts zero: it appears again on purpose.
    """
    if story.novelty is Novelty.CORRECTED:
        return 0
    posts = set(story.posts)
    before = [other for digest in earlier for other in digest.stories if posts & set(other.posts)]
    known = {sentence.text for other in before for sentence in other.sentences} | {
        other.headline for other in before
    }
    return sum(sentence.text in known for sentence in story.sentences) + (
        story.novelty is Novelty.NEW and bool(before)
    )


def begun_of(posts: Sequence[LabelledPost], known: set[object]) -> list[list[LabelledPost]]:
    """The posts of each true story that was not known before."""
    stories: dict[object, list[LabelledPost]] = defaultdict(list)
    for post in posts:
        if post.planned.story is not None and post.truth not in known:
            stories[post.truth].append(post)
    known.update(stories)
    return list(stories.values())


async def judge(
    app: App,
    tenant_id: TenantId,
    since: datetime,
    now: datetime,
    *,
    begun: Sequence[Sequence[LabelledPost]],
    gone: PostId | None,
    judged: Judged,
) -> Digest:
    """Makes the digest of a day, and counts its mistakes.

    `begun` are the stories that began that day.
    """
    stores, interests = (
        app.tenant(tenant_id),
        [Interest(topic, MAX_WEIGHT, InterestSource.OWN, "", now) for topic in TOPICS],
    )
    earlier, began = judged.recent_digests(now), own_cpu_seconds()
    digest = await compose(
        since, stores=stores, now=now, length=DigestLength.LONG, earlier_digests=earlier, interests=interests
    )
    judged.cpu += own_cpu_seconds() - began
    judged.digests.append(digest)
    judged.novelties.update(story.novelty.value for story in digest.stories)
    judged.repeated += sum(count_repeated(story, earlier) for story in digest.stories)
    mentioned = {post for issue in (*earlier, digest) for story in issue.stories for post in story.posts}
    for posts in begun:
        if len({post.post.channel_id for post in posts}) > 1 and all(
            match_interests([post.post.text], interests).topics for post in posts
        ):
            judged.interesting += 1
            judged.missed += not mentioned & {post.post.id for post in posts}
    if gone is not None:
        mended = [
            story for story in digest.stories if gone in story.posts and story.novelty is not Novelty.NEW
        ]
        cited = any(gone in sentence.posts for story in digest.stories for sentence in story.sentences)
        judged.corrections += 1
        judged.corrections_missed += not mended or cited
    return digest


async def delete_one(
    admin: "asyncpg.Connection[asyncpg.Record]", digest: Digest, *, at: datetime
) -> PostId | None:
    """Deletes the first post of the weightiest story that several posts tell."""
    for story in digest.stories:
        if len(story.channels) > 2:
            gone = story.posts[0]
            await admin.execute(
                "UPDATE posts SET deleted_at = $3 WHERE channel_id = $1 AND message_id = $2",
                gone.channel_id,
                gone.message_id,
                at,
            )
            return gone
    return None


async def measure(days: int, *, shows: bool) -> dict[str, Any]:
    posts = [post for post in world(days=days) if not post.is_private]
    until = posts[-1].post.posted_at
    begin, judged, known, stories_known = until - days * DAY, Judged(), set[ChannelId](), set[object]()
    async with own_database("tga_bench_digests") as settings, assemble(settings) as app:
        admin, tenant = await connect(settings), await app.system.tenants.ensure("bench")
        gone: PostId | None = None
        for day in range(days):
            since, now = begin + day * DAY, begin + (day + 1) * DAY
            todays = [post for post in posts if since < post.post.posted_at <= now]
            await store(app, admin, tenant.tenant_id, todays, known)
            begun = begun_of(todays, stories_known)
            digest = await judge(app, tenant.tenant_id, since, now, begun=begun, gone=gone, judged=judged)
            if shows:
                print(
                    write_plain(
                        digest_document(digest, language="ru", zone=UTC, story_link=str, post_link=str)
                    )
                )
            gone = await delete_one(admin, digest, at=now + timedelta(hours=1))
        await admin.close()
    stories = [len(digest.stories) for digest in judged.digests]
    return {
        "bench": "digests",
        "days": days,
        "digests": len(judged.digests),
        "stories": sum(stories),
        "stories_by_novelty": dict(judged.novelties),
        "repeated": judged.repeated,
        "interesting": judged.interesting,
        "missed": judged.missed,
        "corrections": judged.corrections,
        "corrections_missed": judged.corrections_missed,
        "seconds_per_digest": round(judged.cpu / len(judged.digests), 2),
        "cpu": round(own_cpu_seconds(), 1),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--quick", action="store_true", help="six days")
    parser.add_argument("--show", action="store_true", help="print every digest")
    options = parser.parse_args()
    finish(asyncio.run(measure(6 if options.quick else options.days, shows=options.show)), options, *LIMITS)


if __name__ == "__main__":
    main()
