"""Questions are answered with the posts that say it, or refused."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.search.snippets import Snippet
from telegram_assistant.errors import Rejected
from telegram_assistant.features.ask.answers import Answer, Outcome
from telegram_assistant.features.ask.ask import answer_from, ask
from telegram_assistant.features.search.results import SearchResult
from telegram_assistant.language.questions import parse_question
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from testkit.factories import make_channel, make_page, make_post, make_subscription, make_tenant

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
CLOSED = "Каменный мост в Солнцеборе закрыли\n\nКаменный мост в Солнцеборе закрыли на 16 дней из-за трещины. Автобусы идут в объезд."
OTHERS = "Дорожники обещают: Каменный мост в Солнцеборе закрыли на 18 дней."
QUESTION = "На сколько дней закрыли Каменный мост в Солнцеборе?"
HOSTILE = (Path(__file__).parent / "hostile_answers.txt").read_text(encoding="utf-8").splitlines()


def found(number: int, text: str) -> SearchResult:
    return SearchResult(
        post_id=PostId(ChannelId(number), MessageId(1)),
        posted_at=NOW + timedelta(minutes=number),
        channel=f"Channel {number}",
        link=f"https://t.me/c/{number}/1",
        text=text,
        snippet=Snippet(text, ()),
        lang="ru",
        kind=None,
        tags=(),
        copies=(),
        by_words=True,
        by_meaning=False,
        by_names=False,
    )


def answered(*texts: str, question: str = QUESTION) -> Answer:
    return answer_from(parse_question(question), [found(number, text) for number, text in enumerate(texts, start=1)])


async def test_a_question_is_answered_from_the_tenants_posts_and_goes_on_without_names(pool: Pool, system: SystemStores) -> None:
    tenant_id, channel_id = await make_tenant(system), await make_channel(system)
    await system.channels.subscribe(tenant_id, make_subscription(channel_id))
    posts = [make_post(channel_id=channel_id, message_id=1 + place, text=text, posted_at=NOW) for place, text in enumerate((CLOSED, "Дождь"))]
    await system.landing.land(make_page(*posts), Claim(channel_id, 0))
    await system.posts.save_derived([Derived(post, 1, "ru", ()) for post in posts])

    async def asks(typed: str, *previous: str) -> Answer:
        later = NOW + timedelta(hours=1)
        return await ask(typed, tenant_id=tenant_id, stores=tenant_stores(pool, tenant_id), index=None, now=later, previous=previous)

    answer = await asks(QUESTION)
    assert (answer.outcome, [one.text for one in answer.sentences]) == (
        Outcome.ANSWERED,
        ["Каменный мост в Солнцеборе закрыли на 16 дней из-за трещины."],
    )
    assert answer.passages[0].post_id == posts[0].id
    assert (await asks("Почему из-за трещины?", QUESTION)).outcome is Outcome.ANSWERED
    assert (await asks("Сколько стоит билет на концерт в Солнцеборе?")).outcome is Outcome.NEAREST
    assert (await asks("Когда родился Шекспир?")).outcome is Outcome.NOTHING
    with pytest.raises(Rejected):
        await asks("А что?")


def test_who_gives_another_number_is_shown_too() -> None:
    answer = answered(CLOSED, OTHERS)
    assert [one.text for one in answer.sentences] == ["Каменный мост в Солнцеборе закрыли на 16 дней из-за трещины.", OTHERS]


def test_a_question_for_a_number_is_answered_with_one_and_not_with_the_headline() -> None:
    shown = "Компания «Тримарис» показала новинку\n\nЧасы компании «Тримарис» стоят 910 долларов. Заряда хватает на неделю."
    headline = "«Тримарис» показала новинку: в компании довольны"
    answer = answered(shown, headline, question="Сколько долларов стоит новинка компании «Тримарис»?")
    assert [one.text for one in answer.sentences] == ["Часы компании «Тримарис» стоят 910 долларов."]


def test_a_university_is_not_its_town() -> None:
    text = "Экспедиция Университета Солнцебора закрыла Каменный мост у Элмстеда на 16 дней."
    assert answered(text).outcome is Outcome.NEAREST


def test_the_order_in_which_posts_were_found_does_not_matter() -> None:
    results = [found(1, CLOSED), found(2, OTHERS), found(3, "Каменный мост закрыли")]
    assert answer_from(parse_question(QUESTION), results) == answer_from(parse_question(QUESTION), results[::-1])


def test_there_are_enough_hostile_posts_in_both_languages() -> None:
    assert len(HOSTILE) >= 40
    assert sum(text[:1].isascii() for text in HOSTILE) >= 15


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_post_changes_nothing_but_its_own_passage(text: str) -> None:
    before, after = answered(CLOSED, OTHERS), answered(CLOSED, OTHERS, text)
    assert after.outcome is Outcome.ANSWERED
    own = [one for one in after.passages if one.post_id.channel_id == 3]
    assert [one for one in after.passages if one not in own] == list(before.passages)
    assert all(one.text in text for one in own)
    for sentence in after.sentences:
        assert all(after.passages[place].text == sentence.text for place in sentence.passages)
    honest = [one.text for one in before.sentences]
    assert [one.text for one in after.sentences if one.text in honest] == honest[: sum(one.text in honest for one in after.sentences)]
    assert answered(text, question="Сколько стоит билет в Элмстеде?").outcome is not Outcome.ANSWERED
