"""The habits of channels, learnt for each tenant from the posts that it sees."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.features.posts.habits import learn_channel_habits
from telegram_assistant.features.stories.telling import summary_of, tell, words_of
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.understanding.stories import StoryBuilder
from testkit.factories import World, make_page, make_post
from tests.conftest import Admin

NOW = datetime.now(UTC)
OPENING = "Доброе утро, Нагорный район и все соседи"
SIGNATURE = "Ваша Ольха из Нагорного района"


async def land_signed(system: SystemStores, channel_id: ChannelId, count: int) -> PostId:
    """Returns the newest post."""
    for number in range(count):
        post = make_post(
            channel_id=channel_id,
            message_id=1000 + number,
            text=f"{OPENING}\n\nМост номер {number} в Элмстеде закрыли на ремонт.\n\n{SIGNATURE}",
            posted_at=NOW - timedelta(days=count - number),
        )
        await system.landing.land(make_page(post), Claim(channel_id, 0))
    return post.id


async def test_no_story_tells_how_a_channel_begins_and_ends_its_posts(
    system: SystemStores, world: World
) -> None:
    first, second = [await land_signed(system, channel_id, 10) for channel_id in world.shared[:2]]
    builder = StoryBuilder(system.story_sources, system.post_terms, system.story_groups)
    await builder.group([first, second], now=NOW)
    assert await learn_channel_habits(habits=world.stores_a.habits, now=NOW) == len(world.of_a)
    assert await learn_channel_habits(habits=world.stores_a.habits, now=NOW) == 0
    (story,) = (await world.stores_a.stories.around(first)).stories()
    assert tell(story).headline == "Мост номер 9 в Элмстеде закрыли на ремонт"
    assert words_of(story.first) == "Мост номер 9 в Элмстеде закрыли на ремонт."
    summary = summary_of(story)
    assert summary is not None
    assert not [sentence for sentence in summary.sentences if "Ольха" in sentence.text]
    assert "соседи" not in summary.headline.text


async def test_a_tenant_that_follows_anew_knows_no_habit_from_posts_before_its_window(
    system: SystemStores, world: World, admin: Admin
) -> None:
    channel_id = world.shared[0]
    await land_signed(system, channel_id, 10)
    await learn_channel_habits(habits=world.stores_a.habits, now=NOW)
    await world.stores_a.followed.leave(channel_id)
    await system.channels.subscribe(world.a, Subscription(channel_id=channel_id, history_days=3))
    for stores in (world.stores_a, world.stores_b):
        await learn_channel_habits(habits=stores.habits, now=NOW)
    rows = await admin.fetch("SELECT tenant_id, habits FROM subscriptions WHERE channel_id = $1", channel_id)
    assert {row["tenant_id"]: len(row["habits"]) for row in rows} == {world.a: 0, world.b: 2}


async def test_a_channel_is_looked_at_on_its_first_day_and_then_once_a_week(world: World) -> None:
    habits = world.stores_a.habits
    assert set(await habits.due_channels(0)) == world.of_a
    await learn_channel_habits(habits=habits, now=NOW)
    week = [channel_id for day in range(7) for channel_id in await habits.due_channels(day)]
    assert sorted(week) == sorted(world.of_a)
