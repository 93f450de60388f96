"""The page that answers questions: what it adds to the words of posts, and what it leaves out."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.assembly import App
from telegram_assistant.domain.digests.interests import Feedback
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from testkit.factories import follow_long_ago, make_channel, make_page, make_post
from testkit.stories import store_story
from testkit.web_clients import Browser
from tests.conftest import Admin

CLOSED = "Вчера Каменный мост в Солнцеборе закрыли на 16 дней."
BLOCKED = "В Солнцеборе перекрыт Каменный мост: его закрыли, водители едут через плотину."
OPENED = "Каменный мост в Солнцеборе снова открыли, автобусы ходят."


async def land_story(app: App, admin: Admin, tenant_id: TenantId, *texts: str, at: datetime) -> list[Post]:
    posts: list[Post] = []
    for place, text in enumerate(texts):
        channel_id = await make_channel(app.system)
        await follow_long_ago(app.system, admin, tenant_id, channel_id)
        posted_at = at + timedelta(hours=place)
        posts.append(make_post(channel_id=channel_id, message_id=1, text=text, posted_at=posted_at))
        await app.system.landing.land(make_page(posts[-1]), Claim(channel_id, 0))
        await app.system.posts.save_derived([Derived(posts[-1], 1, "ru", ())])
    links = [(post.id, posts[0].id, LinkKind.REWRITE, 5.0, False) for post in posts[1:]]
    await store_story(admin, [post.id for post in posts], links)
    return posts


async def test_the_page_shows_the_day_of_a_relative_word_and_what_has_changed_since(
    app: App, admin: Admin, tenant_id: TenantId, owner: Browser
) -> None:
    posted_at = (datetime.now(UTC) - timedelta(days=5)).replace(hour=12)
    await land_story(app, admin, tenant_id, CLOSED, BLOCKED, OPENED, at=posted_at)
    await owner.open("./ask?q=На сколько дней закрыли Каменный мост в Солнцеборе?")
    day = posted_at - timedelta(days=1)
    assert f"Вчера [{day.day} {day:%B}] Каменный мост" in owner.page
    assert owner.page.index("This has changed since") < owner.page.index(OPENED)


async def test_news_on_the_page_leave_out_muted_stories(
    app: App, admin: Admin, tenant_id: TenantId, owner: Browser
) -> None:
    begin = datetime.now(UTC) - timedelta(hours=2)
    posts = await land_story(app, admin, tenant_id, BLOCKED, BLOCKED, at=begin)
    await owner.open("./ask?q=Что нового за сутки?")
    assert BLOCKED in owner.page
    own = app.person(tenant_id, owner.user_id)
    await own.interests.say([posts[0].id], Feedback.MUTED, headline=BLOCKED, topics=[])
    await owner.open("./ask?q=Что нового за сутки?")
    assert BLOCKED not in owner.page
    assert "Not in your channels" in owner.page
