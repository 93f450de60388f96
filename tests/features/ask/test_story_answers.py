"""Questions that stories answer: what is new, and who was first."""

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from telegram_assistant.documents.writing import write_plain
from telegram_assistant.domain.digests.interests import Feedback
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.errors import Rejected
from telegram_assistant.features.ask.answers import Answer, Outcome
from telegram_assistant.features.ask.ask import answer_question, final_answer
from telegram_assistant.features.ask.days import write_dated
from telegram_assistant.features.ask.document import answer_document
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import (
    PersonStores,
    SystemStores,
    person_stores,
    tenant_stores,
)
from testkit.factories import (
    fresh_number,
    make_channel,
    make_page,
    make_post,
    make_subscription,
    make_tenant,
)
from testkit.stories import store_story

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
FIRST = "Каменный мост в Солнцеборе закрыли на 16 дней."
SECOND = "В Солнцеборе перекрыт Каменный мост: его закрыли, водители едут через плотину."


async def land_story(
    system: SystemStores,
    admin: asyncpg.Connection,
    *,
    at: datetime = NOW,
    texts: tuple[tuple[str, str], ...] = ((FIRST, "ru"), (SECOND, "ru")),
) -> tuple[TenantId, list[Post]]:
    tenant_id, posts = await land_posts(system, at=at, texts=texts)
    links = [(post.id, posts[0].id, LinkKind.REWRITE, 5.0, False) for post in posts[1:]]
    await store_story(admin, [post.id for post in posts], links)
    return tenant_id, posts


async def land_posts(
    system: SystemStores,
    *,
    at: datetime = NOW,
    texts: tuple[tuple[str, str], ...] = ((FIRST, "ru"), (SECOND, "ru")),
) -> tuple[TenantId, list[Post]]:
    """A post for each text, an hour apart, in channels of their own."""
    tenant_id = await make_tenant(system)
    posts: list[Post] = []
    for place, (text, language) in enumerate(texts):
        channel_id = await make_channel(system)
        await system.channels.subscribe(tenant_id, make_subscription(channel_id))
        posted_at = at - timedelta(hours=3 - place)
        posts.append(
            make_post(channel_id=channel_id, message_id=1, text=text, posted_at=posted_at, lang=language)
        )
        await system.landing.land(make_page(posts[-1]), Claim(channel_id, 0))
        await system.posts.save_derived([Derived(posts[-1], 1, language, ())])
    return tenant_id, posts


async def ask(
    pool: Pool,
    tenant_id: TenantId,
    typed: str,
    *previous: str,
    now: datetime = NOW,
    own: PersonStores | None = None,
    language: str | None = None,
) -> Answer:
    return await final_answer(
        answer_question(
            typed,
            tenant_id=tenant_id,
            stores=tenant_stores(pool, tenant_id),
            index=None,
            now=now,
            previous=previous,
            own=own,
            language=language,
        )
    )


@pytest.mark.parametrize(
    "question",
    [
        "Кто первым сообщил о закрытии моста Каменный в Солнцеборе?",
        "Сколько каналов написали про Каменный мост в Солнцеборе?",
        "Когда сообщили о Каменном мосте в Солнцеборе?",
        "Какие каналы пишут про Каменный мост в Солнцеборе?",
    ],
)
async def test_the_story_says_who_was_first_and_how_many_channels_report_it(
    pool: Pool, system: SystemStores, admin: asyncpg.Connection, question: str
) -> None:
    tenant_id, posts = await land_story(system, admin)
    answer = await ask(pool, tenant_id, question)
    assert (answer.outcome, [passage.post_id for passage in answer.passages]) == (
        Outcome.ANSWERED,
        [post.id for post in posts],
    )
    assert [sentence.text for sentence in answer.sentences] == [FIRST]
    assert "2 channels report it; in their own words: 2" in str(answer.words)


async def test_nobody_was_first_with_a_story_that_does_not_exist(
    pool: Pool, system: SystemStores, admin: asyncpg.Connection
) -> None:
    tenant_id, _ = await land_story(system, admin)
    answer = await ask(pool, tenant_id, "Кто первым сообщил о пожаре в Солнцеборе?")
    assert (answer.outcome, answer.sentences) == (Outcome.NEAREST, ())


async def test_posts_of_several_stories_are_listed_with_the_earliest(
    pool: Pool, system: SystemStores
) -> None:
    tenant_id, posts = await land_posts(system)
    answer = await ask(pool, tenant_id, "Кто первым сообщил про Каменный мост в Солнцеборе?")
    assert (answer.outcome, [passage.post_id for passage in answer.passages]) == (
        Outcome.ANSWERED,
        [post.id for post in posts],
    )
    assert [sentence.text for sentence in answer.sentences] == [FIRST]
    assert "2 posts of 2 channels are about this" in str(answer.words)
    assert "They may be about several events" in str(answer.words)


async def test_a_single_channel_with_a_report_is_named(pool: Pool, system: SystemStores) -> None:
    tenant_id, _ = await land_posts(system, texts=((FIRST, "ru"),))
    answer = await ask(pool, tenant_id, "Сколько каналов пишут про Каменный мост в Солнцеборе?")
    assert "only Channel" in str(answer.words)
    assert "1 post is about it" in str(answer.words)


async def test_a_relative_word_of_an_earlier_post_gets_its_day(pool: Pool, system: SystemStores) -> None:
    text = "Сегодня Каменный мост в Солнцеборе закрыли на 16 дней, завтра закроют плотину."
    tenant_id, _ = await land_posts(system, texts=((text, "ru"),), at=NOW - timedelta(days=12))
    question = "На сколько дней закрыли Каменный мост в Солнцеборе?"
    answer = await ask(pool, tenant_id, question)
    assert answer.sentences[0].text == text
    for quotation in (answer.sentences[0], answer.passages[0]):
        assert write_dated(quotation, "ru") == (
            "Сегодня [3 ноября] Каменный мост в Солнцеборе закрыли на 16 дней, "
            "завтра [4 ноября] закроют плотину."
        )
    assert "Сегодня [3 November] Каменный" in write_plain(answer_document(answer, language="en", zone=UTC))
    same_day = await ask(pool, tenant_id, question, now=NOW - timedelta(days=12))
    assert write_dated(same_day.sentences[0], "ru") == text
    next_year = await ask(pool, tenant_id, question, now=NOW + timedelta(days=300))
    assert "Сегодня [3 ноября 2026]" in write_dated(next_year.sentences[0], "ru")


async def test_an_answer_says_what_has_changed_since(
    pool: Pool, system: SystemStores, admin: asyncpg.Connection
) -> None:
    opened = "Каменный мост в Солнцеборе снова открыли, автобусы ходят."
    tenant_id, posts = await land_story(
        system, admin, texts=((FIRST, "ru"), (SECOND, "ru"), (opened, "ru")), at=NOW - timedelta(days=1)
    )
    answer = await ask(pool, tenant_id, "На сколько дней закрыли Каменный мост в Солнцеборе?")
    assert [sentence.text for sentence in answer.sentences] == [FIRST]
    assert answer.newest is not None
    assert answer.passages[answer.newest.passages[0]].post_id == posts[2].id
    assert answer.newest.text.rstrip(".") == opened.rstrip(".")
    document = write_plain(answer_document(answer, language="en", zone=UTC))
    assert document.index("This has changed since") < document.index("снова открыли")


async def test_what_is_new_are_the_stories_of_today(
    pool: Pool, system: SystemStores, admin: asyncpg.Connection
) -> None:
    tenant_id, posts = await land_story(system, admin)
    answer = await ask(pool, tenant_id, "Что нового?")
    assert (answer.outcome, [passage.post_id for passage in answer.passages]) == (
        Outcome.ANSWERED,
        [posts[0].id],
    )
    tomorrow = await ask(pool, tenant_id, "What is new?", now=NOW + timedelta(days=1))
    assert (tomorrow.outcome, tomorrow.passages) == (Outcome.NOTHING, ())


@pytest.mark.parametrize("question", ["Что нового вчера?", "Что было вчера?", "What happened on Saturday?"])
async def test_the_stories_of_an_earlier_day_are_its_news(
    pool: Pool, system: SystemStores, admin: asyncpg.Connection, question: str
) -> None:
    tenant_id, posts = await land_story(system, admin, at=NOW - timedelta(days=1))
    answer = await ask(pool, tenant_id, question)
    assert [passage.post_id for passage in answer.passages] == [posts[0].id]
    assert "14 November" in str(answer.words)
    assert (await ask(pool, tenant_id, "Что нового?")).outcome is Outcome.NOTHING


async def test_what_happened_goes_on_about_the_question_before_it(
    pool: Pool, system: SystemStores, admin: asyncpg.Connection
) -> None:
    tenant_id, _ = await land_story(system, admin, at=NOW - timedelta(days=3))
    answer = await ask(pool, tenant_id, "Что случилось?", "Закрыли ли Каменный мост в Солнцеборе?")
    assert answer.outcome is Outcome.ANSWERED
    assert {FIRST} <= {sentence.text for sentence in answer.sentences}
    nothing = await ask(pool, tenant_id, "What happened?", "What is new?")
    assert (nothing.outcome, nothing.passages) == (Outcome.NOTHING, ())


async def test_a_question_without_its_own_words_asks_the_one_before_it_about_another_day_or_place(
    pool: Pool, system: SystemStores, admin: asyncpg.Connection
) -> None:
    tenant_id, _ = await land_story(system, admin, at=NOW - timedelta(days=1))
    before = "На сколько дней закрыли Каменный мост в Солнцеборе сегодня?"
    assert (await ask(pool, tenant_id, before)).outcome is Outcome.NOTHING
    assert [sentence.text for sentence in (await ask(pool, tenant_id, "А вчера?", before)).sentences] == [
        FIRST
    ]
    assert (await ask(pool, tenant_id, "А почему?", before)).outcome is Outcome.NOTHING
    other = "На сколько дней закрыли Каменный мост в Туманске?"
    assert (await ask(pool, tenant_id, other)).outcome is Outcome.NEAREST
    assert (await ask(pool, tenant_id, "А в Солнцеборе?", other)).outcome is Outcome.ANSWERED
    other = "На сколько дней закрыли Северный мост в Туманске?"
    assert (await ask(pool, tenant_id, "А в Солнцеборе?", other)).outcome is Outcome.NEAREST


async def test_news_leave_out_what_the_reader_has_muted(
    pool: Pool, system: SystemStores, admin: asyncpg.Connection
) -> None:
    tenant_id, posts = await land_story(system, admin)
    user_id = (await system.users.join(tenant_id, f"reader {fresh_number()}")).user_id
    own = person_stores(pool, tenant_id, user_id)
    assert (await ask(pool, tenant_id, "Что нового?", own=own)).outcome is Outcome.ANSWERED
    await own.interests.say([posts[0].id], Feedback.MUTED, headline=FIRST, topics=[])
    assert (await ask(pool, tenant_id, "Что нового?", own=own)).outcome is Outcome.NOTHING
    assert (await ask(pool, tenant_id, "Что нового?")).outcome is Outcome.ANSWERED


async def test_news_are_in_the_readers_language(
    pool: Pool, system: SystemStores, admin: asyncpg.Connection
) -> None:
    english = "Stone Bridge in Solntsebor is closed for 16 days."
    tenant_id, posts = await land_story(system, admin, texts=((FIRST, "ru"), (english, "en")))
    for language, place in (("ru", 0), ("en", 1)):
        answer = await ask(pool, tenant_id, "What is new?", language=language)
        assert [passage.post_id for passage in answer.passages] == [posts[place].id]
        assert [sentence.text.rstrip(".") for sentence in answer.sentences] == [
            (FIRST, english)[place].rstrip(".")
        ]


async def test_a_day_without_posts_is_said_and_not_taken_for_a_day_without_news(
    pool: Pool, system: SystemStores, admin: asyncpg.Connection
) -> None:
    tenant_id, _ = await land_story(system, admin)
    question = "На сколько дней закрыли Каменный мост в Солнцеборе"
    empty = await ask(pool, tenant_id, f"{question} 3 ноября?")
    assert (empty.outcome, str(empty.words)) == (
        Outcome.NOTHING,
        "your channels have no posts on 3 November",
    )
    assert "no posts from 9 November to 14 November" in str(
        (await ask(pool, tenant_id, "Что нового с 9 по 14 ноября?")).words
    )
    other = await ask(pool, tenant_id, "Сколько стоит билет в зоопарк Ветрограда сегодня?")
    assert (other.outcome, str(other.words)) == (
        Outcome.NOTHING,
        "your channels report nothing about this on 15 November; ask without the day to search all posts",
    )
    near = await ask(pool, tenant_id, "Почему закрыли Каменный мост в Солнцеборе сегодня?")
    assert near.outcome is Outcome.NEAREST
    assert "15 November" in str(near.words)


async def test_a_question_about_a_day_is_answered_from_that_day(
    pool: Pool, system: SystemStores, admin: asyncpg.Connection
) -> None:
    tenant_id, _ = await land_story(system, admin)
    question = "На сколько дней закрыли Каменный мост в Солнцеборе"
    assert (await ask(pool, tenant_id, f"{question} сегодня?")).outcome is Outcome.ANSWERED
    assert (await ask(pool, tenant_id, f"{question} вчера?")).outcome is Outcome.NOTHING
    with pytest.raises(Rejected):
        await ask(pool, tenant_id, "А вчера?")
