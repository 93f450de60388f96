"""How much of what tenant A sees of stories depends on the public channels that only tenant B follows.

Posts of the measuring world are grouped twice: with all channels, and with B's public channels removed
altogether. A pair is two posts that A sees in one story, through row-level security and the links of which it
sees both ends. `regrouped` is the share of A's pairs that stand in only one of the two runs. B's private
channels are never compared with others, so they are left out of both runs.
"""

import asyncio
import itertools
import random
from collections.abc import Sequence
from datetime import UTC, datetime

from bench.workloads.story_world import LabelledPost, land, world
from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, Subscription
from telegram_assistant.stores.postgres.search.search import FAR_FUTURE
from telegram_assistant.stores.postgres.stores import TenantStores
from testkit.harness import arguments, at_least, at_most, finish, own_database

DATABASE = "tga_bench_story_regrouping"
BATCH = 200
LIMITS = (*at_most(0.01, "regrouped"), *at_least(1_000, "pairs"))


def share_of(posts: Sequence[LabelledPost], share: float, seed: int) -> frozenset[ChannelId]:
    """The channels that A follows, public and private ones alike."""
    channels = sorted({post.post.channel_id for post in posts})
    return frozenset(random.Random(seed).sample(channels, round(len(channels) * share)))


async def pairs_seen(
    posts: Sequence[LabelledPost], followed: frozenset[ChannelId]
) -> set[tuple[PostId, PostId]]:
    """Groups the posts in a database of their own. Returns the pairs of posts that A sees in one story."""
    async with own_database(DATABASE) as settings, assemble(settings) as app:
        await land(app, posts)
        for some in itertools.batched(posts, BATCH):
            await app.story_builder.group([post.post.id for post in some], now=datetime.now(UTC))
        stores = await _subscribe(app, followed)
        own = [post.post.id for post in posts if post.post.channel_id in followed]
        return {pair for some in itertools.batched(own, BATCH) for pair in await _pairs(stores, some)}


async def _subscribe(app: App, followed: frozenset[ChannelId]) -> TenantStores:
    tenant = await app.system.tenants.ensure("A")
    for channel_id in followed:
        await app.system.channels.subscribe(
            tenant.tenant_id, Subscription(channel_id=channel_id, history_days=EVERYTHING_DAYS)
        )
    return app.tenant(tenant.tenant_id)


async def _pairs(stores: TenantStores, posts: Sequence[PostId]) -> set[tuple[PostId, PostId]]:
    material = (await stores.words.load(posts, stories_until=FAR_FUTURE)).stories
    if material is None:
        return set()
    return {
        pair
        for story in material.stories()
        for pair in itertools.combinations(sorted(post.post_id for post in story.posts), 2)
    }


async def run(days: int, share: float, seed: int) -> dict[str, object]:
    everything = world(days=days)
    followed = share_of(everything, share, seed)
    posts = [post for post in everything if post.post.channel_id in followed or not post.is_private]
    with_b = await pairs_seen(posts, followed)
    without_b = await pairs_seen([post for post in posts if post.post.channel_id in followed], followed)
    return {
        "posts": len(posts),
        "posts_of_a": sum(post.post.channel_id in followed for post in posts),
        "channels_of_a": len(followed),
        "pairs": len(with_b),
        "joined": len(with_b - without_b),
        "parted": len(without_b - with_b),
        "regrouped": round(len(with_b ^ without_b) / max(len(with_b), 1), 4),
        "seed": seed,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--share", type=float, default=0.5, help="of the channels that tenant A follows")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    result = asyncio.run(run(options.days, options.share, options.seed))
    finish({"bench": "story_regrouping", **result}, options, *LIMITS)


if __name__ == "__main__":
    main()
