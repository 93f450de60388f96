"""tagging on real stores, in front of a server that speaks GigaChat's protocol."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from telegram_assistant.ai.local.tagging import LOCAL_MODEL
from telegram_assistant.ai.prompting import prompt
from telegram_assistant.assembly import App
from telegram_assistant.domain.posts.post import PostKind, TextEntity
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.events import Trigger
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.understanding.enrichments import Kind
from telegram_assistant.stores.postgres.understanding.tenant_tags import TagChoice
from testkit.factories import make_deleted, make_page, make_post
from testkit.provider_server import ChatRequest, FakeServer, saying
from tests.ai.conftest import Opened
from tests.ai.test_prompting_hostile_posts import HOSTILE, STRANGE
from tests.conftest import Admin
from tests.stages.tagged import follow, land, load_visible, rows, tag

OFF, LOCAL, PROVIDER = AiPolicy.OFF, AiPolicy.LOCAL, AiPolicy.PROVIDER
NEWS = "Центробанк сохранил ключевую ставку, банки снижают ставки по вкладам"
COPIES = 100


def fresh(text: str = NEWS) -> str:
    """A post that nobody has asked about before."""
    return f"{text} {uuid4()}"


async def test_every_post_is_answered_with_its_tags_or_none(app: App) -> None:
    channel_id, _ = await follow(app, LOCAL)
    posts = await land(app, channel_id, NEWS, "", "123 !!!", "The match ended 2:1, the striker scored a goal")
    events = await tag(app, posts)
    assert [event.post for event in events] == posts
    assert {event.trigger for event in events} == {Trigger.INITIAL}
    assert "центробанк" in events[0].tags
    assert events[1].tags == events[2].tags == ()
    assert "football" in events[3].tags
    saved = await rows(app, posts)
    assert [enrichment.post_id for enrichment in saved] == posts
    assert saved[0].data["topic"] == "economy"
    assert saved[0].data["kind"] == "news"
    assert saved[0].data["language"] == "ru"
    assert saved[0].data["is_ad"] is False


async def test_a_paid_address_behind_a_word_or_a_button_marks_the_post(app: App) -> None:
    channel_id, _ = await follow(app, LOCAL)
    paid = "https://lamp.example/?erid=2Vtzq"
    (linked,) = await land(
        app, channel_id, "Лампа для чтения", entities=(TextEntity("text_url", 0, 5, paid),), first=1
    )
    (with_button,) = await land(
        app, channel_id, "Лампа для сна", facts={"buttons": [{"text": "Взять", "url": paid}]}, first=2
    )
    (plain,) = await land(app, channel_id, "Лампа для кухни", first=3)
    posts = [linked, with_button, plain]
    await tag(app, posts)
    assert [row.data["is_ad"] for row in await rows(app, posts)] == [True, True, False]


async def test_posts_that_are_gone_or_unknown_are_answered_too(app: App) -> None:
    channel_id, _ = await follow(app, LOCAL)
    posts = await land(app, channel_id, *[NEWS] * 2)
    await make_deleted(app.system, channel_id, at=datetime.now(UTC) + timedelta(hours=2))
    unknown = await land(app, (await follow(app))[0], NEWS)
    events = await tag(app, [*posts, *unknown])
    assert [event.tags for event in events] == [(), (), ()]
    assert await rows(app, [*posts, *unknown]) == []


async def test_off_for_all_sends_nothing_anywhere_and_saves_nothing(app: App, server: FakeServer) -> None:
    channel_id, _ = await follow(app, OFF, OFF)
    events = await tag(app, await land(app, channel_id, fresh()))
    assert [event.tags for event in events] == [()]
    assert server.calls == 0
    assert await rows(app, [event.post for event in events]) == []


async def test_a_post_delivered_three_times_costs_one_call_and_is_saved_once(
    app: App, server: FakeServer
) -> None:
    channel_id, _ = await follow(app, PROVIDER)
    server.says = saying(tags=["инфляция", "банки"], topic="economy", kind="opinion")
    posts = await land(app, channel_id, *[fresh(f"Новость {number}: {NEWS}") for number in range(5)])
    rounds = [await tag(app, posts) for _ in range(3)]
    assert rounds[0] == rounds[1] == rounds[2]
    assert server.calls == 5
    saved = await rows(app, posts)
    assert [(enrichment.tier, enrichment.model) for enrichment in saved[:2]] == [
        ("local", LOCAL_MODEL),
        ("provider", "GigaChat-2"),
    ]
    assert saved[1].data["tags"] == ["инфляция", "банки"]
    assert saved[1].data["kind"] == "opinion"
    assert len(saved) == 10


async def test_a_hundred_copies_in_other_channels_cost_one_call(app: App, server: FakeServer) -> None:
    server.says = saying(tags=["банки"])
    number = str(uuid4().int)[:8]
    original = (
        f"Центробанк оштрафовал Альфу на {number} рублей. Об этом сообщил Иван Петров на встрече с "
        "вкладчиками, которые пришли в отделение."
    )
    signatures = (
        "",
        "\n\nПодписаться на канал",
        "\n@some_channel",
        "\nhttps://t.me/other/15",
        "\n\n👉 Наш чат",
    )
    posts = []
    for copy in range(COPIES):
        channel_id, _ = await follow(app, PROVIDER)
        text = f"{'⚡️ Срочно! ' if copy % 3 else ''}{original}{signatures[copy % len(signatures)]}"
        posts += await land(
            app, channel_id, text.replace("которые пришли", "что пришли") if copy % 7 == 6 else text
        )
    for start in range(0, COPIES, 25):
        await tag(app, posts[start : start + 25])
    assert server.calls == 1
    assert sum(row.tier == "provider" for row in await rows(app, posts)) == COPIES


async def test_the_same_words_with_another_number_or_name_are_another_post(
    app: App, server: FakeServer
) -> None:
    channel_id, _ = await follow(app, PROVIDER)
    numbers = [str(uuid4().int)[:8] for _ in range(2)]
    texts = [
        f"Пожар на складе: площадь {number} метров, в тушении участвуют {who}, пострадавших нет."
        for number in numbers
        for who in ("МЧС", "ВДПО")
    ]
    await tag(app, await land(app, channel_id, *texts))
    assert server.calls == 4


async def test_each_tenant_sees_exactly_its_tier(app: App, server: FakeServer) -> None:
    server.says = saying(tags=["инфляция"])
    channel_id, (nothing, local, paid) = await follow(app, OFF, LOCAL, PROVIDER)
    silent_id, (unasked,) = await follow(app, PROVIDER, consents=False)
    posts = await land(app, channel_id, fresh(), fresh())
    others = await land(app, silent_id, fresh())
    await tag(app, [*posts, *others])
    assert server.calls == 2
    assert await load_visible(app, nothing, posts) == {}
    assert await load_visible(app, local, posts) == dict.fromkeys(posts, "local")
    assert await load_visible(app, paid, posts) == dict.fromkeys(posts, "provider")
    assert await load_visible(app, unasked, [*posts, *others]) == dict.fromkeys(others, "local")
    await app.system.ai_policies.withdraw(paid)
    assert await load_visible(app, paid, posts) == dict.fromkeys(posts, "local")


async def test_a_tenant_sees_tags_as_it_has_chosen(app: App) -> None:
    channel_id, (chooser, other) = await follow(app, LOCAL, LOCAL)
    posts = await land(app, channel_id, NEWS)
    (event,) = await tag(app, posts)
    await app.tenant(chooser).tags.choose(TagChoice("ru", "центробанк", shown_as="цб"))
    await app.tenant(chooser).tags.choose(TagChoice("ru", "банки", hidden=True))
    own_tags, others = [
        (await app.tenant(tenant).enrichments.load_every_kind(posts[0]))[Kind.TAGS].data["tags"]
        for tenant in (chooser, other)
    ]
    assert others == list(event.tags)
    assert own_tags == ["цб" if tag == "центробанк" else tag for tag in event.tags if tag != "банки"]


async def test_hashtags_of_several_channels_become_tags_and_those_of_private_ones_do_not(
    app: App, admin: Admin
) -> None:
    number = uuid4().hex[:6]
    public, private = f"слово{number}", f"тайна{number}"
    for place in range(6):
        channel_id, _ = await follow(app, LOCAL)
        hidden_id, _ = await follow(app, LOCAL)
        await admin.execute("UPDATE channels SET is_private = true WHERE channel_id = $1", hidden_id)
        open_posts = await land(app, channel_id, f"Новость {place} в городе #{public}")
        await tag(app, [*open_posts, *await land(app, hidden_id, f"Новость {place} в городе #{private}")])
    grown = (await app.system.vocabularies.current()).tags_of("ru")
    assert public in grown
    assert private not in grown
    posts = await land(app, (await follow(app, LOCAL))[0], f"Снова {public.upper()} и всё о нём")
    assert (await tag(app, posts))[0].tags[0] == public


async def test_a_provider_without_an_answer_leaves_the_local_one_and_a_wish(
    app: App, server: FakeServer
) -> None:
    server.status = 500
    channel_id, (paid,) = await follow(app, PROVIDER)
    posts = await land(app, channel_id, *[fresh() for _ in range(10)])
    events = await tag(app, posts)
    assert all(event.tags for event in events)
    assert await load_visible(app, paid, posts) == dict.fromkeys(posts, "local")
    wanted = await app.system.provider_wanted.take("tagging", limit=100, lease=timedelta(minutes=1))
    assert {*posts} <= {task.post_id for task in wanted}


async def test_an_empty_budget_leaves_the_local_result(app: App, server: FakeServer) -> None:
    channel_id, (poor,) = await follow(app, PROVIDER, money=0)
    posts = await land(app, channel_id, fresh())
    await tag(app, posts)
    assert server.calls == 0
    assert await load_visible(app, poor, posts) == dict.fromkeys(posts, "local")


async def test_nothing_is_paid_for_history(app: App, server: FakeServer) -> None:
    server.says = saying(tags=["инфляция"])
    channel_id, (paid,) = await follow(app, PROVIDER)
    text = fresh()
    old = await land(app, channel_id, text, fresh(), posted_at=datetime.now(UTC) - timedelta(days=3))
    new = await land(app, channel_id, text, first=10)
    await tag(app, old)
    assert server.calls == 0
    await tag(app, new)
    await tag(app, old)
    assert server.calls == 1
    assert await load_visible(app, paid, [*old, *new]) == {
        old[0]: "provider",
        old[1]: "local",
        new[0]: "provider",
    }


async def test_an_edited_post_shows_what_is_known_of_the_edit(app: App, server: FakeServer) -> None:
    server.says = saying(tags=["инфляция"])
    channel_id, (paid,) = await follow(app, PROVIDER)
    posts = await land(app, channel_id, fresh())
    await tag(app, posts)
    server.status = 500
    edit = make_post(
        channel_id=channel_id, message_id=1, text=fresh("Зенит выиграл матч"), posted_at=datetime.now(UTC)
    )
    await app.system.landing.land(make_page(edit), Claim(channel_id, 0))
    await tag(app, posts, revision=2)
    assert await load_visible(app, paid, posts) == {posts[0]: "local"}
    server.status = 200
    await tag(app, posts, revision=1)
    assert await load_visible(app, paid, posts) != {}
    assert {row.revision for row in await rows(app, posts) if row.tier == "local"} == {2}


async def test_hostile_posts_get_no_strange_tag_and_no_word_of_the_prompt(
    app: App, server: FakeServer
) -> None:
    def obey(request: ChatRequest) -> str:
        return json.dumps(
            {
                "tags": [*STRANGE, "спорт", "sport"],
                "entities": [{"text": request.system[:90], "kind": "person"}],
                "topic": request.system[:90],
            }
        )

    server.says = obey
    channel_id, _ = await follow(app, PROVIDER)
    posts = await land(app, channel_id, *[fresh(text) for text in HOSTILE])
    events = [
        event for start in range(0, len(posts), 50) for event in await tag(app, posts[start : start + 50])
    ]
    assert len(events) == len(posts)
    vocabulary = await app.system.vocabularies.current()
    known = {*vocabulary.tags_of("ru"), *vocabulary.tags_of("en")}
    words = prompt("tagging").text[:40]
    for row in await rows(app, posts):
        tags = row.data["tags"]
        assert isinstance(tags, list)
        assert set(tags) <= known
        assert words not in json.dumps(row.data, ensure_ascii=False)
    assert not {*STRANGE} & {tag for event in events for tag in event.tags}


@pytest.mark.parametrize("kind", [PostKind.SERVICE, PostKind.POLL])
async def test_service_messages_are_known_as_such(app: App, kind: PostKind) -> None:
    channel_id, _ = await follow(app, LOCAL)
    posts = await land(app, channel_id, "Channel photo updated", kind=kind)
    await tag(app, posts)
    assert [row.data["kind"] for row in await rows(app, posts)] == [
        "service" if kind is PostKind.SERVICE else "news"
    ]


async def test_it_works_without_any_key(open_program: Opened, tmp_path: Path) -> None:
    async with open_program(MODELS_DIR=str(tmp_path)) as app:
        channel_id, (paid,) = await follow(app, PROVIDER)
        posts = await land(app, channel_id, fresh())
        (event,) = await tag(app, posts)
        assert event.tags
        assert await load_visible(app, paid, posts) == dict.fromkeys(posts, "local")
