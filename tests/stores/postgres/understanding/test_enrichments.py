from dataclasses import replace

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from testkit.factories import make_channel, make_page, make_post
from tests.conftest import Admin


async def land_texts(system: SystemStores, *texts: str) -> tuple[PostId, ...]:
    channel_id = await make_channel(system)
    posts = [
        make_post(channel_id=channel_id, message_id=number, text=text) for number, text in enumerate(texts, 1)
    ]
    await system.landing.land(make_page(*posts), Claim(channel_id, 0))
    return tuple(post.id for post in posts)


def vision(post_id: PostId, description: str, *, revision: int = 1, tier: Tier = Tier.LOCAL) -> Enrichment:
    return Enrichment(
        post_id,
        revision,
        Kind.VISION,
        tier,
        {"description": description, "text": ""},
        model="eye",
        prompt_version="vision/1",
    )


async def test_what_was_understood_is_read_back_for_many_posts_at_once(system: SystemStores) -> None:
    first, second, third = await land_texts(system, "one", "two", "three")
    made = (
        vision(first, "a cat"),
        vision(second, "a dog"),
        vision(second, "a brown dog", tier=Tier.PROVIDER),
    )
    await system.enrichments.save(made)
    loaded = await system.enrichments.load([first, second, third], Kind.VISION)
    assert sorted(loaded, key=lambda each: (each.post_id, each.tier)) == list(made)
    assert await system.enrichments.load([first, second, third], Kind.TAGS) == ()


async def test_the_later_of_two_results_about_one_revision_is_kept(system: SystemStores) -> None:
    (post,) = await land_texts(system, "one")
    await system.enrichments.save([vision(post, "a cat"), vision(post, "a tiger")])
    await system.enrichments.save([vision(post, "a lion")])
    assert [
        enrichment.data["description"] for enrichment in await system.enrichments.load([post], Kind.VISION)
    ] == ["a lion"]


async def test_the_same_again_writes_nothing(system: SystemStores, admin: Admin) -> None:
    (post,) = await land_texts(system, "one")
    await system.enrichments.save([vision(post, "a cat")])
    written = await admin.fetchval(
        "SELECT xmin::text FROM post_enrichment WHERE channel_id = $1", post.channel_id
    )
    await system.enrichments.save([vision(post, "a cat")])
    assert (
        await admin.fetchval("SELECT xmin::text FROM post_enrichment WHERE channel_id = $1", post.channel_id)
        == written
    )


async def test_a_thought_about_an_older_revision_never_overwrites_a_newer_one(system: SystemStores) -> None:
    (post,) = await land_texts(system, "one")
    await system.landing.land(
        make_page(make_post(channel_id=post.channel_id, message_id=1, text="edited")),
        Claim(post.channel_id, 0),
    )
    await system.enrichments.save([vision(post, "of the edit", revision=2)])
    await system.enrichments.save([vision(post, "of what was", revision=1)])
    assert [
        enrichment.data["description"] for enrichment in await system.enrichments.load([post], Kind.VISION)
    ] == ["of the edit"]


async def test_posts_that_do_not_exist_get_no_row(system: SystemStores) -> None:
    (post,) = await land_texts(system, "one")
    foreign = PostId(ChannelId(post.channel_id), MessageId(99))
    await system.enrichments.save([vision(post, "a cat"), replace(vision(post, "nobody"), post_id=foreign)])
    assert [
        enrichment.post_id for enrichment in await system.enrichments.load([post, foreign], Kind.VISION)
    ] == [post]
