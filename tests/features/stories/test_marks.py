"""Stories that a person saves, is done with and follows."""

from datetime import UTC, datetime

import pytest

from telegram_assistant.domain.stories.marks import Mark, marks_of
from telegram_assistant.domain.watches.watch import AlertKind
from telegram_assistant.errors import Missing
from telegram_assistant.features.stories.marks import (
    list_marks,
    mark_story,
    marked_stories,
    unmark_story,
)
from telegram_assistant.features.stories.stories import take_out, visible_story
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import SystemStores, person_stores
from tests.conftest import Admin
from tests.features.story_desk import AGAIN, FLOOD, StoryDesk


@pytest.fixture
def desk(system: SystemStores, pool: Pool, admin: Admin) -> StoryDesk:
    return StoryDesk(system, pool, admin)


async def test_a_story_is_done_until_a_post_says_something_new(desk: StoryDesk) -> None:
    tenant_id = await desk.open()
    anna = await desk.invite(tenant_id)
    first = await desk.post(FLOOD, tenant_id, minutes_ago=9)
    await desk.post(f"❗️ {FLOOD}", tenant_id, minutes_ago=8)
    stores, own = desk.stores(tenant_id), person_stores(desk.pool, tenant_id, anna).story_marks

    async def load_marks() -> frozenset[Mark]:
        return marks_of(await visible_story(first, stores=stores), await list_marks(marks=own))

    await mark_story(first, Mark.DONE, stores=stores, marks=own)
    assert await load_marks() == {Mark.DONE}
    await desk.post(f"Срочно. {FLOOD}", tenant_id, minutes_ago=7)
    assert await load_marks() == {Mark.DONE}, "a copy is no news"
    later = await desk.post(AGAIN, tenant_id, minutes_ago=1)
    assert later in [post.post_id for post in (await visible_story(first, stores=stores)).posts]
    assert await load_marks() == frozenset()
    await mark_story(later, Mark.DONE, stores=stores, marks=own)
    assert await load_marks() == {Mark.DONE}
    await unmark_story(later, Mark.DONE, stores=stores, marks=own)
    assert await load_marks() == frozenset()
    with pytest.raises(Missing):
        await unmark_story(later, Mark.DONE, stores=stores, marks=own)


async def test_who_follows_a_story_gets_one_alert_for_each_new_post_that_is_no_copy(desk: StoryDesk) -> None:
    tenant_id, stranger = await desk.open(), await desk.open()
    anna, boris = [await desk.invite(tenant_id) for _ in range(2)]
    first = await desk.post(FLOOD, tenant_id, minutes_ago=9)
    await desk.post(f"❗️ {FLOOD}", tenant_id, minutes_ago=8)
    own = person_stores(desk.pool, tenant_id, anna).story_marks
    for _ in range(2):
        await mark_story(first, Mark.FOLLOWED, stores=desk.stores(tenant_id), marks=own)
    await desk.raise_followed()
    assert await desk.stores(tenant_id, anna).alerts.newest() == ()
    await desk.post(f"Срочно. {FLOOD}", tenant_id, minutes_ago=7)
    await desk.post(AGAIN, stranger, minutes_ago=2)
    await desk.raise_followed()
    assert await desk.stores(tenant_id, anna).alerts.newest() == (), (
        "a copy, and a post that nobody here sees"
    )
    later = await desk.post(AGAIN, tenant_id, minutes_ago=1)
    assert await desk.raise_followed() == 1
    await desk.admin.execute("UPDATE stories SET changed_at = now()")
    assert await desk.raise_followed() == 0
    (alert,) = await desk.stores(tenant_id, anna).alerts.newest()
    assert (alert.kind, alert.post_id, alert.watch_id, alert.watch) == (AlertKind.FOLLOWED, later, None, "")
    assert await desk.stores(tenant_id, anna).alerts.count_unread() == 1
    for stores in (desk.stores(tenant_id, boris), desk.stores(tenant_id), desk.stores(stranger, anna)):
        assert await stores.alerts.newest() == ()
        assert await stores.alerts.count_unread() == 0
        assert await stores.alerts.mark_seen([alert.alert_id], by="boris", until=datetime.now(UTC)) == 0


async def test_a_person_who_left_the_tenant_gets_no_alert(desk: StoryDesk) -> None:
    tenant_id = await desk.open()
    _owner, anna = [await desk.invite(tenant_id) for _ in range(2)]
    first = await desk.post(FLOOD, tenant_id, minutes_ago=9)
    own = person_stores(desk.pool, tenant_id, anna).story_marks
    await mark_story(first, Mark.FOLLOWED, stores=desk.stores(tenant_id), marks=own)
    assert await desk.system.users.remove(tenant_id, anna)
    await desk.post(AGAIN, tenant_id, minutes_ago=1)
    await desk.raise_followed()
    assert await desk.stores(tenant_id, anna).alerts.newest() == ()


async def test_saved_stories_are_told_as_they_are_now_and_keep_their_mark_when_posts_join_or_leave(
    desk: StoryDesk,
) -> None:
    tenant_id, stranger = await desk.open(), await desk.open()
    anna = await desk.invite(tenant_id)
    marked = await desk.post(FLOOD, tenant_id, minutes_ago=9)
    stores, own = desk.stores(tenant_id), person_stores(desk.pool, tenant_id, anna).story_marks
    await mark_story(marked, Mark.SAVED, stores=stores, marks=own)
    earlier = await desk.post(f"Срочно. {FLOOD}", tenant_id, minutes_ago=20)
    (saved,) = (await marked_stories(Mark.SAVED, stores=stores, marks=own, limit=5)).stories
    assert [post.post_id for post in saved.story.posts] == [earlier, marked]
    await take_out(earlier, stores=stores)
    (saved,) = (await marked_stories(Mark.SAVED, stores=stores, marks=own, limit=5)).stories
    assert [post.post_id for post in saved.story.posts] == [marked]
    with pytest.raises(Missing):
        await mark_story(marked, Mark.SAVED, stores=desk.stores(stranger), marks=own)
    await desk.admin.execute("UPDATE subscriptions SET active = false WHERE tenant_id = $1", tenant_id)
    assert (await marked_stories(Mark.SAVED, stores=stores, marks=own, limit=5)).stories == ()


async def test_saved_stories_come_in_pages(desk: StoryDesk) -> None:
    tenant_id = await desk.open()
    anna = await desk.invite(tenant_id)
    stores, own = desk.stores(tenant_id), person_stores(desk.pool, tenant_id, anna).story_marks
    posts = [await desk.post(f"Пост номер {number}", tenant_id) for number in range(3)]
    for post in posts:
        await mark_story(post, Mark.SAVED, stores=stores, marks=own)
    page = await marked_stories(Mark.SAVED, stores=stores, marks=own, limit=2)
    rest = await marked_stories(Mark.SAVED, stores=stores, marks=own, limit=2, before=page.next)
    listed = [saved.story.story_id for saved in (*page.stories, *rest.stories)]
    assert (listed, rest.next) == (posts[::-1], None)
