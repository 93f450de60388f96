"""A search by words and meaning: what is found, in which order, and what is said when a part is away.

The file is long because everything that a search does needs the same reader, with his channel, words and
vectors.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from telegram_assistant.ai.local.models import folder_of
from telegram_assistant.ai.local.sentence_model import SentenceModel
from telegram_assistant.ai.protocols import TextKind
from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.search.parsing import parse_query
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.domain.understanding.policy import AiPolicy, Tier
from telegram_assistant.errors import Rejected
from telegram_assistant.events import PostParsed
from telegram_assistant.features.search.meaning import WordsOnly
from telegram_assistant.features.search.pages import COMPARED_CHARACTERS
from telegram_assistant.features.search.results import SearchPage
from telegram_assistant.features.search.search import search
from telegram_assistant.features.search.words import Relaxed, find_by_words, note_giving_up
from telegram_assistant.settings import VectorSettings, read_group
from telegram_assistant.stages.post_persistence import post_persistence
from telegram_assistant.stores.postgres.pipeline.rebuilds import Projection
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.search.search import FAR_FUTURE, SearchFilters, SearchPosition
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from telegram_assistant.stores.postgres.understanding.tenant_tags import TagChoice
from telegram_assistant.vectors.index import MeaningSearch
from telegram_assistant.vectors.opening import open_vectors
from testkit.factories import fresh_number, make_channel, make_page, make_post, make_subscription, make_tenant
from testkit.models import MINILM
from testkit.provider_server import fake_server
from testkit.stories import store_story
from tests.conftest import Admin
from tests.vectors.indexed import index_of, mark_complete, open_with_vectors

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
async def app(
    database: dict[str, str], minilm: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[App]:
    async with open_with_vectors(database, models=minilm, folder=tmp_path_factory.mktemp("vectors")) as built:
        await mark_complete(built.system)
        yield built


class Reader:
    """A tenant with a channel."""

    def __init__(self, app: App, tenant_id: TenantId, channel_id: ChannelId) -> None:
        self.app, self.tenant_id, self.channel_id = app, tenant_id, channel_id

    async def says(
        self,
        *texts: str,
        tags: dict[str, Any] | None = None,
        channel_id: ChannelId | None = None,
        **more: Any,
    ) -> list[Post]:
        """All of it is stored, understood and indexed; a minute lies between two, the last is the newest."""
        first = fresh_number() * 1000
        posts = [
            make_post(
                **{
                    "channel_id": channel_id or self.channel_id,
                    "message_id": first + place,
                    "text": text,
                    "posted_at": NOW - timedelta(minutes=len(texts) - place),
                    **more,
                }
            )
            for place, text in enumerate(texts)
        ]
        await self.app.system.landing.land(make_page(*posts), Claim(channel_id or self.channel_id, 0))
        events = [PostParsed.about(post.id, 1, occurred_at=NOW) for post in posts]
        system = self.app.system
        await post_persistence(
            events,
            posts=system.posts,
            media=system.media,
            media_rules=self.app.media_rules,
            albums=system.albums,
            versions=system.versions,
        )
        if tags is not None:
            await system.enrichments.save(
                [Enrichment(post.id, 1, Kind.TAGS, Tier.LOCAL, tags) for post in posts]
            )
        await index_of(self.app).write([post.id for post in posts])
        return posts

    async def asks(self, typed: str, *, by_meaning: bool = True, **more: Any) -> SearchPage:
        index = self.app.meaning_search if by_meaning else None
        arguments = {
            "now": NOW,
            "stores": self.app.tenant(self.tenant_id),
            "index": index,
            "tenant_id": self.tenant_id,
            **more,
        }
        return await search(typed, **arguments)

    async def asks_again(self, typed: str) -> SearchPage:
        """By words, until there was time to look for similar ones."""
        for _ in range(20):
            answer = await self.asks(typed, by_meaning=False)
            if not answer.gave_up:
                break
        return answer

    async def finds(self, typed: str, **more: Any) -> list[str]:
        return [match.text for match in (await self.asks(typed, **more)).results]


@pytest.fixture
async def reader(app: App) -> Reader:
    return await make_reader(app)


async def make_reader(app: App, channel_id: ChannelId | None = None, **how: Any) -> Reader:
    tenant_id, channel_id = await make_tenant(app.system), channel_id or await make_channel(app.system)
    await app.system.channels.subscribe(tenant_id, make_subscription(channel_id, **how))
    return Reader(app, tenant_id, channel_id)


async def test_posts_with_the_words_come_first_then_those_that_mean_the_same(reader: Reader) -> None:
    await reader.says(
        "A kitten sleeps on the sofa", "Central bank raises interest rates", "The cat is asleep"
    )
    answer = await reader.asks("cat")
    assert [match.text for match in answer.results][:2] == [
        "The cat is asleep",
        "A kitten sleeps on the sofa",
    ]
    assert [(match.by_words, match.by_meaning) for match in answer.results][:2] == [
        (True, True),
        (False, True),
    ]
    assert answer.words_only is None
    assert answer.searched_back_to is None
    assert answer.cursor is None


async def test_a_server_of_the_operator_finds_by_meaning_under_the_policy_local(
    database: dict[str, str], minilm: Path, tmp_path: Path
) -> None:
    model = await asyncio.to_thread(SentenceModel, folder_of(minilm, MINILM))
    async with fake_server() as server:
        server.embeds = lambda texts: model.embed(texts, TextKind.DOCUMENT)
        own_server = {
            "AI_EMBEDDINGS": "openai",
            "AI_EMBEDDINGS_MODEL": "own/model",
            "EMBEDDINGS_BASE_URL": f"{server.url}/v1",
            "EMBEDDINGS_IS_OWN": "true",
        }
        async with open_with_vectors(database, models=minilm, folder=tmp_path, **own_server) as app:
            reader = await make_reader(app, ai_policy=AiPolicy.LOCAL)
            await reader.says("A kitten sleeps on the sofa", "Central bank raises interest rates")
            answer = await reader.asks("cat")
    assert [(match.text, match.by_meaning) for match in answer.results][:1] == [
        ("A kitten sleeps on the sofa", True)
    ]
    assert (server.request_counts["chat"], server.names) == (0, ["own/model"] * 2)


async def test_without_vectors_words_alone_answer_and_it_is_said(reader: Reader) -> None:
    await reader.says("A kitten sleeps on the sofa", "The cat is asleep")
    answer = await reader.asks("cats", by_meaning=False)
    assert [match.text for match in answer.results] == ["The cat is asleep"]
    assert answer.words_only is WordsOnly.OFF
    assert "switched off" in str(answer.words_only.words)


async def test_while_some_posts_have_no_vector_the_answer_says_so(reader: Reader) -> None:
    await reader.says("A kitten sleeps on the sofa", "The cat is asleep")
    await reader.app.system.rebuilds.forget(Projection.VECTORS)
    answer = await reader.asks("cat")
    assert (len(answer.results), answer.words_only) == (2, WordsOnly.FILLING)
    await mark_complete(reader.app.system)
    assert (await reader.asks("cat")).words_only is None


async def test_vectors_that_take_too_long_are_not_waited_for(reader: Reader) -> None:
    await reader.says("The cat is asleep")
    answer = await reader.asks("cat", meaning_seconds=0.0)
    assert (len(answer.results), answer.words_only) == (1, WordsOnly.SLOW)


async def test_while_the_server_of_the_vectors_is_away_words_answer(reader: Reader) -> None:
    await reader.says("The cat is asleep")
    async with open_vectors(read_group(VectorSettings, {"QDRANT_URL": "http://127.0.0.1:1"})) as away:
        assert away is not None
        index = MeaningSearch(away, questions=reader.app.questions)
        answer = await reader.asks("cat", index=index)
    assert (len(answer.results), answer.words_only) == (1, WordsOnly.AWAY)


async def test_where_the_policy_is_off_no_model_finds_anything(app: App) -> None:
    other = await make_reader(app)
    await other.says("The cat is asleep", tags={"tags": ["pets"], "is_ad": False})
    strict = await make_reader(app, other.channel_id, ai_policy=AiPolicy.OFF)
    assert await other.finds("kitten") == ["The cat is asleep"]
    answer = await strict.asks("kitten")
    assert (answer.results, answer.words_only) == ((), WordsOnly.POLICY)
    (match,) = (await strict.asks("cat")).results
    assert match.tags == ()


async def test_phrases_and_exclusions_hold_for_what_means_the_same_too(reader: Reader) -> None:
    await reader.says("The cat is asleep", "A kitten sleeps on the sofa", "A cat is not a dog")
    assert await reader.finds("kitten -asleep") == ["A kitten sleeps on the sofa", "A cat is not a dog"]
    assert await reader.finds('"cat is asleep"') == ["The cat is asleep"]


async def test_copies_are_folded_into_one_with_a_count(reader: Reader) -> None:
    text = "В Казани 12 ноября открыли новый мост через реку Казанку, движение по нему начнётся утром"
    posts = await reader.says(
        text,
        f"СРОЧНО. {text}",
        f"{text}\n\nПодписаться: @gorod",
        "В Самаре 13 ноября открыли новый мост через Волгу",
    )
    answer = await reader.asks("новый мост")
    counts = {match.text: len(match.copies) for match in answer.results}
    assert sorted(counts.values()) == [0, 2]
    assert counts[posts[3].text] == 0
    assert answer.facets.posts == 4


async def test_long_posts_that_begin_alike_and_go_on_differently_are_no_copies(reader: Reader) -> None:
    opening = " ".join(f"В Казани {day} ноября открыли новый мост через реку" for day in range(1, 30))
    assert len(opening) > COMPARED_CHARACTERS
    await reader.says(opening, f"{opening} {'и ещё один' * 60}")
    assert [len(match.copies) for match in (await reader.asks("новый мост")).results] == [0, 0]


async def test_many_copies_hide_nothing_that_comes_after_them(reader: Reader) -> None:
    text = "В Казани 12 ноября открыли новый мост через реку Казанку, движение по нему начнётся утром"
    await reader.says(
        *[
            f"Новый мост номер {number}, в городе на реке, который всем очень понравился и стоит"
            for number in range(10)
        ]
    )
    await reader.says(*[f"{text}\n\nПодписаться: @gorod{number}" for number in range(60)])
    texts: list[str] = []
    cursor = None
    while True:
        answer = await reader.asks("новый мост", by_meaning=False, limit=4, cursor=cursor)
        texts += [match.text for match in answer.results]
        if (cursor := answer.cursor) is None:
            break
    assert len(texts) == 11
    assert answer.facets.posts == 70


async def test_advertising_is_hidden_unless_it_is_asked_for(reader: Reader) -> None:
    await reader.says("The cat is asleep", tags={"tags": [], "kind": "news", "is_ad": False})
    await reader.says("A cat bed for your cat", tags={"tags": [], "kind": "advertising", "is_ad": True})
    assert await reader.finds("cat") == ["The cat is asleep"]
    assert set(await reader.finds("cat ads:yes")) == {"The cat is asleep", "A cat bed for your cat"}
    assert await reader.finds("kind:advertising") == ["A cat bed for your cat"]


async def test_words_are_marked_in_plain_text(reader: Reader) -> None:
    await reader.says("<b>Снега</b> выпало \ue000много\ue001 & <script>alert(1)</script>")
    (match,) = (await reader.asks("снег", by_meaning=False)).results
    assert [match.snippet.text[begin:end] for begin, end in match.snippet.marks] == ["Снега"]


async def test_limits_hold_for_words_and_meaning(app: App, reader: Reader) -> None:
    other = ChannelId(await make_channel(app.system, username=f"cats_{fresh_number()}"))
    await app.system.channels.subscribe(reader.tenant_id, make_subscription(other))
    photo = {"media": {"kind": "photo", "id": 1, "size_bytes": 10}}
    await reader.says("The cat is asleep", facts=photo, lang="en")
    await reader.says("The cats of the kittens", channel_id=other)
    title = f"Channel {other}"
    for typed in (f"cat from:{other}", f'cat from:"{title}"', "cat -asleep"):
        assert await reader.finds(typed) == ["The cats of the kittens"]
    assert await reader.finds("cat has:image lang:en") == ["The cat is asleep"]
    assert await reader.finds("kitten has:image") == ["The cat is asleep"]
    assert await reader.finds("has:video") == []
    with pytest.raises(Rejected, match="you do not follow"):
        await reader.asks("cat from:@another")


async def test_days_are_those_of_who_asks(reader: Reader) -> None:
    await reader.says("The cat is asleep", posted_at=datetime(2026, 11, 13, 22, tzinfo=UTC))
    assert await reader.finds("cat on:2026-11-13") == ["The cat is asleep"]
    assert await reader.finds("cat on:2026-11-13", zone=timezone(timedelta(hours=3))) == []
    assert await reader.finds("cat on:yesterday", zone=timezone(timedelta(hours=3))) == ["The cat is asleep"]


async def test_tags_are_called_as_the_tenant_calls_them(app: App, reader: Reader) -> None:
    await reader.says("The cat is asleep", tags={"tags": ["pets", "sleep"], "kind": "news", "is_ad": False})
    await app.tenant(reader.tenant_id).tags.choose(TagChoice("en", "pets", shown_as="animals"))
    await app.tenant(reader.tenant_id).tags.choose(TagChoice("en", "sleep", hidden=True))
    (match,) = (await reader.asks("cat")).results
    assert match.tags == ("animals",)
    assert [facet.value for facet in (await reader.asks("kitten")).facets.tags] == ["animals"]
    assert await reader.finds("tag:animals") == ["The cat is asleep"]
    assert await reader.finds("cat tag:pets") == []
    assert await reader.finds("cat tag:sleep") == []


async def test_pages_show_everything_once_whatever_comes_meanwhile(reader: Reader) -> None:
    await reader.says(*[f"The cat number {number} is asleep in house {number * 7}" for number in range(30)])
    await reader.says(*[f"A kitten called Tom{number} plays" for number in range(10)])
    texts: list[str] = []
    cursor, pages = None, 0
    while True:
        answer = await reader.asks("cat", limit=7, cursor=cursor)
        texts += [match.text for match in answer.results]
        pages += 1
        await reader.says(f"Another cat, number 10{pages}, is here", posted_at=NOW + timedelta(minutes=pages))
        if answer.cursor is None:
            break
        cursor = answer.cursor
    assert len(texts) == len(set(texts))
    assert sum("cat number" in text for text in texts) == 30
    with pytest.raises(Rejected, match="another query"):
        await reader.asks("dog", cursor=cursor)
    for wrong in ("x", "eyJhIjoxfQ", "W10", "\u0439"):
        with pytest.raises(Rejected, match="cursor is not valid"):
            await reader.asks("cat", cursor=wrong)


async def test_more_matches_than_are_ranked_together_are_on_later_pages(reader: Reader) -> None:
    await reader.says(*[f"Кот {number} спит" for number in range(330)])
    texts, cursor = set[str](), None
    while True:
        answer = await reader.asks("кот", limit=100, cursor=cursor)
        texts |= {match.text for match in answer.results}
        if (cursor := answer.cursor) is None:
            break
    assert len(texts) == 330


async def test_what_a_tenant_is_told_does_not_depend_on_others(
    app: App, reader: Reader, admin: Admin
) -> None:
    await reader.says(
        "The cat is asleep",
        "A kitten sleeps on the sofa",
        tags={"tags": ["pets"], "kind": "news", "is_ad": False},
    )
    before = await reader.asks("cat")
    other = await make_reader(app)
    await other.says(
        "The cat of somebody else",
        "Another cat of somebody else",
        tags={"tags": ["secret"], "kind": "opinion", "is_ad": False},
    )
    assert await reader.asks("cat") == before
    assert [facet.value for facet in before.facets.channels] == [reader.channel_id]
    assert [facet.name for facet in before.facets.channels] == [f"Channel {reader.channel_id}"]
    await admin.execute("UPDATE subscriptions SET active = false WHERE tenant_id = $1", reader.tenant_id)
    gone = await reader.asks("cat")
    assert (gone.results, gone.facets.posts) == ((), 0)


async def test_an_empty_question_is_answered_with_what_to_write(reader: Reader) -> None:
    for typed in ("", "ads:yes", " ?!"):
        with pytest.raises(Rejected, match="write a word"):
            await reader.asks(typed)


async def test_if_few_posts_have_all_words_those_with_most_of_them_follow_and_the_answer_says_so(
    reader: Reader,
) -> None:
    await reader.says(
        "Завод «Гранит» закрыли на ремонт", "Завод «Гранит» снова работает", "Завод закрыли", "Погода хорошая"
    )
    answer = await reader.asks("завод гранит закрыли ремонт", by_meaning=False)
    assert [match.text for match in answer.results] == [
        "Завод «Гранит» закрыли на ремонт",
        "Завод «Гранит» снова работает",
        "Завод закрыли",
    ]
    assert answer.relaxed is Relaxed.HALF
    assert [str(note) for note in answer.notes] == [
        "few posts have all the words, so posts with at least half of them follow"
    ]
    assert await reader.finds('"завод закрыли" погода', by_meaning=False) == []
    assert await reader.finds("дождь погода -хорошая", by_meaning=False) == []


async def test_posts_of_the_same_days_with_the_names_and_numbers_of_the_best_results_are_related(
    reader: Reader,
) -> None:
    await reader.says(
        "Пожар тушили на складе компании «Септима», площадь 2500 метров",
        "Septima: 2500 square metres burnt down",
        "Дождь",
    )
    answer = await reader.asks("пожар потушили складе ночью", by_meaning=False)
    assert [(match.text[:7], match.by_words, match.by_names) for match in answer.results] == [
        ("Пожар т", True, False),
        ("Septima", False, True),
    ]


async def test_a_name_is_found_in_both_alphabets(reader: Reader) -> None:
    await reader.says("Компания «Новера» показала часы", "Novera unveils a watch", "Погода")
    for typed in ("Новере", "novera"):
        assert sorted(await reader.finds(typed, by_meaning=False)) == [
            "Novera unveils a watch",
            "Компания «Новера» показала часы",
        ]


async def test_a_mistyped_word_is_mended_with_a_word_that_the_tenant_sees(app: App, reader: Reader) -> None:
    other = await make_reader(app)
    await reader.says("Сильный снегопад остановил трамваи")
    await other.says("Проект «Секретовед» запущен")
    answer = await reader.asks_again("снгопад")
    assert [match.text for match in answer.results] == ["Сильный снегопад остановил трамваи"]
    assert [(word.typed, word.meant) for word in answer.mended] == [("снгопад", "снегопад")]
    assert [str(note) for note in answer.notes] == ["no post has “снгопад”; “снегопад” was searched instead"]
    unseen = await reader.asks_again("секретовид")
    assert (unseen.results, unseen.mended) == ((), ())
    assert (await other.asks_again("секретовид")).mended[0].meant == "секретовед"


async def test_a_word_that_the_tenant_sees_is_never_replaced(reader: Reader) -> None:
    await reader.says("Лесной пожар потушен", "Поджар был не виноват", channel_id=reader.channel_id)
    answer = await reader.asks_again("пожар since:2026-11-15 lang:fr")
    assert (answer.results, answer.mended, answer.gave_up) == ((), (), ())


async def test_two_letters_are_mended_only_in_long_words(reader: Reader) -> None:
    await reader.says("The forecast is good", "Многоквартирный дом сдан")
    assert (await reader.asks_again("forest")).mended == ()
    assert (await reader.asks_again("многоквортирнй")).mended[0].meant == "многоквартирный"


async def test_a_search_says_that_it_had_no_time_for_similar_words(reader: Reader) -> None:
    await reader.says("Сильный снегопад остановил трамваи")
    with pytest.raises(TimeoutError):
        await reader.app.tenant(reader.tenant_id).words.mend("снгопад", budget=timedelta(milliseconds=0.01))
    matches = await find_by_words(
        parse_query("снгопад", today=NOW.date()),
        SearchFilters(),
        before=SearchPosition(FAR_FUTURE),
        words=reader.app.tenant(reader.tenant_id).words,
        mending_budget=timedelta(milliseconds=0.01),
    )
    assert (matches.mended, matches.gave_up) == ((), ("снгопад",))
    assert str(note_giving_up("снгопад")).endswith("search again")


async def test_a_story_is_one_result_with_its_other_posts_and_every_post_is_listed_on_demand(
    reader: Reader, admin: Admin
) -> None:
    posts = await reader.says(
        "Мост закрыли для грузовиков",
        "Закрыт мост у Охты",
        "Осмотр опор нашёл трещины",
        "Старый мост покрасили",
    )
    first, second, third, other = (post.id for post in posts)
    await store_story(
        admin,
        [first, second, third],
        [(second, first, LinkKind.REWRITE, 3.0, False), (third, second, LinkKind.REWRITE, 3.0, False)],
    )
    answer = await reader.asks("мост", by_meaning=False, by_story=True)
    assert {
        match.post_id: match.story and [post.post_id for post in match.story.more] for match in answer.results
    } in (
        {second: [first, third], other: None},
        {first: [second, third], other: None},
    )
    assert {match.story.story_id for match in answer.results if match.story} == {first}, (
        "the story has the id of its first post"
    )
    assert answer.facets.posts == 3
    flat = await reader.asks("мост", by_meaning=False)
    assert ({match.post_id for match in flat.results}, {match.story for match in flat.results}) == (
        {first, second, other},
        {None},
    )


async def test_posts_joined_only_through_a_post_of_another_tenant_are_two_results(
    app: App, reader: Reader, admin: Admin
) -> None:
    (first, second), stranger = (
        await reader.says("Мост закрыли для грузовиков", "Закрыт мост у Охты"),
        await make_reader(app),
    )
    before = await reader.asks("мост", by_meaning=False, by_story=True)
    (between,) = await stranger.says("Мост закрыт")
    links = [
        (between.id, first.id, LinkKind.COPY, 9.0, False),
        (second.id, between.id, LinkKind.COPY, 9.0, False),
    ]
    await store_story(admin, [first.id, second.id, between.id], links)
    assert await reader.asks("мост", by_meaning=False, by_story=True) == before
    assert len(before.results) == 2


async def test_pages_of_stories_show_each_once_though_a_later_post_joins_two_of_them(
    reader: Reader, admin: Admin
) -> None:
    posts = [post.id for post in await reader.says(*[f"Кот номер {number} спит" for number in range(24)])]
    for story in range(8):
        own = posts[story * 3 : story * 3 + 3]
        await store_story(
            admin, own, [(post_id, own[0], LinkKind.REWRITE, 3.0, False) for post_id in own[1:]]
        )
    pages: list[set[str]] = []
    cursor = None
    while True:
        answer = await reader.asks("кот", by_meaning=False, by_story=True, limit=3, cursor=cursor)
        pages += [
            {str(match.post_id), *(str(post.post_id) for post in match.story.more)}
            for match in answer.results
            if match.story
        ]
        if cursor is None:
            with pytest.raises(Rejected, match="another query"):
                await reader.asks("кот", by_meaning=False, cursor=answer.cursor)
            (late,) = await reader.says("Кот проснулся", posted_at=NOW + timedelta(hours=1))
            story_id = await admin.fetchval(
                "SELECT story_id FROM story_posts WHERE channel_id = $1 LIMIT 1", reader.channel_id
            )
            await admin.execute(
                "UPDATE story_posts SET story_id = $2 WHERE channel_id = $1", reader.channel_id, story_id
            )
            await store_story(
                admin,
                [late.id],
                [(late.id, post, LinkKind.COPY, 9.0, False) for post in posts],
                story_id=story_id,
            )
        if (cursor := answer.cursor) is None:
            break
    assert len(pages) == 8
    assert set().union(*pages) == {str(post) for post in posts}
