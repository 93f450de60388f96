"""Words in PostgreSQL: every way of looking finds the same, newest first, and tells how far it looked."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId, TenantId
from telegram_assistant.domain.search.parsing import parse_query
from telegram_assistant.domain.search.query import Has
from telegram_assistant.domain.understanding.policy import AiPolicy, Tier
from telegram_assistant.features.search.words import search_terms
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from telegram_assistant.stores.postgres.search.search import (
    FAR_FUTURE,
    Matches,
    SearchFilters,
    SearchPosition,
    WordSearch,
)
from telegram_assistant.stores.postgres.stores import SystemStores, tenant_stores
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichment, Kind
from testkit.factories import fresh_number, make_channel, make_page, make_post, make_subscription, make_tenant
from tests.conftest import Admin

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
EVERYTHING = SearchPosition(FAR_FUTURE)
LONG = timedelta(seconds=10)


class Reader:
    """A tenant with one channel, and a word that nobody else uses."""

    def __init__(self, system: SystemStores, pool: Pool, tenant_id: TenantId, channel_id: ChannelId) -> None:
        self.system, self.tenant_id, self.channel_id = system, tenant_id, channel_id
        self.words: WordSearch = tenant_stores(pool, tenant_id).words
        self.word = f"слово{fresh_number()}"

    async def says(
        self,
        *texts: str,
        at: datetime = NOW,
        first_id: int = 1,
        lang: str | None = None,
        has: tuple[Has, ...] = (),
    ) -> None:
        """A minute between two of them, the last one at that moment."""
        posts = [
            make_post(
                channel_id=self.channel_id,
                message_id=first_id + place,
                text=text,
                posted_at=at - timedelta(minutes=len(texts) - 1 - place),
            )
            for place, text in enumerate(texts)
        ]
        await self.system.landing.land(make_page(*posts), Claim(self.channel_id, 0))
        await self.system.posts.save_derived([Derived(post, 1, lang, (), has) for post in posts])

    async def finds(
        self, words: str | None = None, *, before: SearchPosition = EVERYTHING, most: int = 300, **limits: Any
    ) -> list[int]:
        page = await self.looks(words, before=before, most=most, **limits)
        return [match.post_id.message_id for match in page.complete]

    async def looks(
        self, words: str | None = None, *, before: SearchPosition = EVERYTHING, most: int = 300, **limits: Any
    ) -> Matches:
        query = parse_query(self.word if words is None else words, today=NOW.date())
        return await self.words.find(
            search_terms(query), SearchFilters(**limits), before=before, max_rows=most, budget=LONG
        )


@pytest.fixture
async def reader(system: SystemStores, pool: Pool) -> Reader:
    tenant_id, channel_id = await make_tenant(system), await make_channel(system)
    await system.channels.subscribe(tenant_id, make_subscription(channel_id))
    return Reader(system, pool, tenant_id, channel_id)


async def test_words_are_found_in_any_form_and_phrases_in_their_order(reader: Reader) -> None:
    await reader.says(
        "Выпал первый снег", "Снега выпало много, первого числа", "The trains were running", "Дождь"
    )
    assert await reader.finds("снегом") == [2, 1]
    assert await reader.finds('"первый снег"') == [1]
    assert await reader.finds("train run") == [3]
    assert await reader.finds("снег or дождь") == [4, 2, 1]
    assert await reader.finds("снег -числа") == [1]
    assert await reader.finds("-снег") == [4, 3]
    assert await reader.finds("") == [4, 3, 2, 1]
    assert await reader.finds("и в на") == []


async def test_what_is_nearer_to_the_words_has_the_higher_rank(reader: Reader) -> None:
    word = reader.word
    await reader.says(
        f"{word} {word} {word}",
        f"{word} и очень много совсем других слов о чём-то ещё, длинный текст без конца и края",
    )
    ranks = {match.post_id.message_id: match.rank for match in (await reader.looks()).complete}
    assert ranks[MessageId(1)] > ranks[MessageId(2)] > 0


async def test_limits_are_kept(reader: Reader) -> None:
    await reader.says(reader.word, lang="ru", has=(Has.IMAGE, Has.LINK))
    await reader.says(reader.word, first_id=2, at=NOW - timedelta(days=2), lang="en", has=(Has.LINK,))
    assert await reader.finds(languages=("ru", "uk")) == [1]
    assert await reader.finds(has=(Has.LINK,)) == [1, 2]
    assert await reader.finds(has=(Has.LINK, Has.IMAGE)) == [1]
    assert await reader.finds(since=NOW - timedelta(days=1)) == [1]
    assert await reader.finds(before=SearchPosition(NOW - timedelta(days=1))) == [2]
    assert await reader.finds("", has=(Has.IMAGE,)) == [1]
    assert await reader.finds(channels=(ChannelId(fresh_number()),)) == []


async def test_tags_and_advertising_are_seen_as_the_policy_allows(
    system: SystemStores, pool: Pool, admin: Admin
) -> None:
    channel_id = await make_channel(system)
    readers = {}
    for policy in AiPolicy:
        tenant_id = await make_tenant(system)
        await system.channels.subscribe(tenant_id, make_subscription(channel_id, ai_policy=policy))
        await system.ai_policies.consent(tenant_id, given_by="owner")
        readers[policy] = Reader(system, pool, tenant_id, channel_id)
    await readers[AiPolicy.LOCAL].says("снег")
    post_id = make_post(channel_id=channel_id).id
    for tier, tags, is_ad in ((Tier.LOCAL, ["погода"], False), (Tier.PROVIDER, ["зима"], True)):
        await system.enrichments.save(
            [Enrichment(post_id, 1, Kind.TAGS, tier, {"tags": tags, "kind": "news", "is_ad": is_ad})]
        )
    seen = {}
    for policy, reader in readers.items():
        matches = (await reader.looks("снег", with_ads=True)).complete
        seen[policy] = (
            matches[0].tags,
            matches[0].kind,
            await reader.finds("снег"),
            await reader.finds("снег", tags=("погода",), with_ads=True),
        )
    assert seen == {
        AiPolicy.OFF: ((), None, [1], []),
        AiPolicy.LOCAL: (("погода",), "news", [1], [1]),
        AiPolicy.PROVIDER: (("зима",), "news", [], []),
    }
    tenant_id = readers[AiPolicy.PROVIDER].tenant_id
    assert await system.ai_policies.withdraw(tenant_id)
    assert (await readers[AiPolicy.PROVIDER].looks("снег")).complete[0].tags == ("погода",)
    await admin.execute("UPDATE subscriptions SET active = false WHERE tenant_id = $1", tenant_id)
    assert await readers[AiPolicy.PROVIDER].finds("снег") == []


async def test_pages_go_on_where_the_last_one_ended_even_within_one_second(reader: Reader) -> None:
    for number in range(1, 8):
        await reader.says(reader.word, first_id=number, at=NOW - timedelta(seconds=number // 4))
    pages, before = [], EVERYTHING
    while True:
        page = await reader.looks(before=before, most=2)
        pages += [match.post_id.message_id for match in page.complete]
        if page.continues_at is None:
            break
        before = page.continues_at
    assert pages == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("every", [400, 25, 2], ids=["rare", "usual", "everywhere"])
async def test_rare_and_frequent_words_are_found_alike_over_all_slices(
    every: int, reader: Reader, system: SystemStores, admin: Admin
) -> None:
    """An estimate decides how they are looked for; the answer is the same."""
    for begins, ends in itertools.pairwise(
        datetime(2031 + month // 12, 1 + month % 12, 1, tzinfo=UTC) for month in (10, 11, 12, 13, 14)
    ):
        await admin.execute("SELECT make_partition('post_search', $1, $2)", begins, ends)
    channels = [await make_channel(system) for _ in range(25)]
    for channel_id in channels:
        await system.channels.subscribe(reader.tenant_id, make_subscription(channel_id))
    posts, newest, apart = 60_000, datetime(2032, 2, 20, tzinfo=UTC), timedelta(minutes=2)
    await admin.execute(
        """
        INSERT INTO post_search (channel_id, message_id, posted_at, words)
        SELECT ($1::bigint[])[1 + n % 25], n, $2::timestamptz - n * $3::interval,
               to_tsvector('simple', CASE WHEN n % $4 = 0 THEN $5 ELSE 'пусто' END)
                   FROM generate_series(1, $6::int) n
        """,
        channels,
        newest,
        apart,
        every,
        reader.word,
        posts,
    )
    await admin.execute("ANALYZE post_search")
    matching = range(every, posts + 1, every)
    assert await reader.finds(most=2500) == list(matching[:2500])
    assert await reader.finds(most=3) == list(matching[:3])
    since, before = datetime(2031, 12, 10, tzinfo=UTC), SearchPosition(datetime(2031, 12, 15, tzinfo=UTC))
    inside = [number for number in matching if since <= newest - number * apart < before.posted_at]
    assert await reader.finds(most=5000, since=since, before=before) == inside
    assert await reader.finds(most=5000, since=since, before=before, channels=channels[:3]) == [
        n for n in inside if n % 25 < 3
    ]
    await admin.execute("DELETE FROM post_search WHERE channel_id = ANY ($1)", channels)


async def test_when_the_time_is_over_it_says_how_far_it_looked(reader: Reader) -> None:
    await reader.says(*[f"пост {number}" for number in range(600)])
    page = await reader.words.find(
        [],
        SearchFilters(tags=("нет такого",)),
        before=SearchPosition(NOW + timedelta(days=1)),
        max_rows=10,
        budget=timedelta(),
    )
    assert page.complete == ()
    assert page.continues_at is not None
    oldest = NOW - timedelta(minutes=599)
    assert oldest < page.continues_at.posted_at <= NOW
    rest = await reader.words.find(
        [], SearchFilters(tags=("нет такого",)), before=page.continues_at, max_rows=10, budget=LONG
    )
    assert rest == Matches((), None)


async def test_an_edit_changes_the_words_and_a_deletion_takes_them(
    reader: Reader, system: SystemStores, admin: Admin
) -> None:
    await reader.says("снег", "дождь")
    edited = make_post(channel_id=reader.channel_id, text="град", edited_at=NOW)
    await system.landing.land(
        make_page(edited, read_at=datetime.now(UTC) + timedelta(seconds=1)), Claim(reader.channel_id, 0)
    )
    await system.posts.save_derived([Derived(edited, 2, "ru", ())])
    assert await reader.finds("снег") == []
    assert await reader.finds("град", languages=("ru",)) == [1]
    await admin.execute(
        "UPDATE posts SET deleted_at = now() WHERE channel_id = $1 AND message_id = 1", reader.channel_id
    )
    await system.posts.save_derived([Derived(edited, 2, "ru", ())])
    assert await reader.finds("град") == []
