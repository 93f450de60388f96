"""Summaries that a provider writes: only what the posts support is kept, only what may be sent is sent,
nothing is paid twice.

The file is long because all of it needs the same provider, posts and budget.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from telegram_assistant.ai.prompting import addresses_model, harmless
from telegram_assistant.assembly import App
from telegram_assistant.domain.digests.digest import Digest, Novelty
from telegram_assistant.domain.digests.plan import DigestLength
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId
from telegram_assistant.domain.stories.story import LinkKind
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.features.digests.composing import compose
from telegram_assistant.features.stories.stories import FullStory, story_around
from telegram_assistant.features.stories.writing import SummaryWriter, SummaryWriting, write_summary
from telegram_assistant.features.understanding.provider_texts import (
    AWAY,
    NO_BUDGET,
    NO_PROVIDER,
    NOT_SENT,
    UNSUPPORTED,
)
from telegram_assistant.stores.postgres.channels.channels import Subscription
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.posts.posts import Derived
from testkit.due_work import run_periodic
from testkit.factories import fresh_number, make_channel, make_page, make_post
from testkit.inventing_provider import InventingModel
from testkit.provider_server import ChatRequest, FakeServer
from testkit.stories import store_story
from tests.ai.conftest import Opened, make_payer
from tests.conftest import Admin

NOW = datetime.now(UTC).replace(microsecond=0)
CLOSED = "Каменный мост в Солнцеборе закрыли на 16 дней из-за трещины. Автобусы идут в объезд."
TOO = "В Солнцеборе на 16 дней закрыли Каменный мост: нашли трещину."
OTHERS = "Дорожники обещают: Каменный мост в Солнцеборе закрыли на 18 дней."
ENGLISH = "Stone Bridge in Solntsebor is closed for 16 days because of a crack."
WROTE = "Каменный мост в Солнцеборе закрыли на 16 дней. [1] [2]"
INVENTED = "Мост закрыл мэр Арсений Глухов. [1]"
HOSTILE = (
    (Path(__file__).parent.parent / "features" / "hostile_answers.txt")
    .read_text(encoding="utf-8")
    .splitlines()
)


@dataclass
class Newsroom:
    """A tenant that pays for a provider, and the stories of its channels."""

    app: App
    admin: Admin
    tenant_id: TenantId
    messages: int = 0
    channels: list[ChannelId] = field(default_factory=list)

    @property
    def writer(self) -> SummaryWriter:
        return SummaryWriter(self.app.questions, self.tenant_id)

    async def channel(
        self,
        *,
        policy: AiPolicy = AiPolicy.PROVIDER,
        protected: bool = False,
        tenants: Sequence[TenantId] = (),
    ) -> ChannelId:
        channel_id = await make_channel(self.app.system, protected=protected)
        for tenant_id in tenants or (self.tenant_id,):
            await self.app.system.channels.subscribe(
                tenant_id, Subscription(channel_id=channel_id, ai_policy=policy, history_days=30)
            )
        return channel_id

    async def tell(self, texts: Sequence[tuple[ChannelId, str]], *, like: PostId | None = None) -> PostId:
        """The channels tell these texts, a minute apart, as one story. Returns its first post."""
        posts = []
        for channel_id, text in texts:
            self.messages += 1
            language = "ru" if re.search("[а-я]", text) else "en"
            posted_at = NOW - timedelta(minutes=60 - self.messages)
            made = make_post(
                channel_id=channel_id, message_id=self.messages, text=text, posted_at=posted_at, lang=language
            )
            await self.store(made.id, text, posted_at)
            posts.append(made.id)
        first = like or posts[0]
        known = await self.admin.fetchval(
            "SELECT story_id FROM story_posts WHERE channel_id = $1 AND message_id = $2",
            first.channel_id,
            first.message_id,
        )
        await store_story(
            self.admin,
            posts,
            [(post, first, LinkKind.REWRITE, 9.0, False) for post in posts if post != first],
            story_id=known,
        )
        return first

    async def store(self, post_id: PostId, text: str, posted_at: datetime) -> None:
        language = "ru" if re.search("[а-я]", text) else "en"
        made = make_post(
            channel_id=post_id.channel_id,
            message_id=post_id.message_id,
            text=text,
            posted_at=posted_at,
            lang=language,
        )
        await self.app.system.landing.land(make_page(made), Claim(post_id.channel_id, 0))
        await self.app.system.posts.save_derived([Derived(made, 1, language, ())])

    async def full(
        self, first: PostId, *, language: str | None = None, tenant_id: TenantId | None = None
    ) -> FullStory:
        return await story_around(
            first, stores=self.app.tenant(tenant_id or self.tenant_id), language=language
        )

    async def write(
        self, first: PostId, *, language: str | None = None, tenant_id: TenantId | None = None
    ) -> SummaryWriting:
        material = (await self.full(first, language=language, tenant_id=tenant_id)).material
        assert material is not None
        writer = SummaryWriter(self.app.questions, tenant_id or self.tenant_id)
        return await write_summary(
            material, writer=writer, stores=self.app.tenant(writer.tenant_id), patience_seconds=5
        )

    async def digest(
        self, *, writes: bool = True, earlier: Sequence[Digest] = (), hours: float = 2
    ) -> Digest:
        stores, now = self.app.tenant(self.tenant_id), datetime.now(UTC)
        since = earlier[-1].until if earlier else now - timedelta(hours=hours)
        writer = self.writer if writes else None
        return await compose(
            since,
            stores=stores,
            now=now,
            length=DigestLength.LONG,
            language="ru",
            earlier_digests=earlier,
            writer=writer,
        )

    async def load_spent(self) -> int:
        (budget,) = [
            budget
            for budget in await self.app.system.spending.budgets()
            if budget.tenant_id == self.tenant_id
        ]
        return budget.used_micro


type Newsrooms = Callable[[], AbstractAsyncContextManager[Newsroom]]


@pytest.fixture
def newsroom(open_program: Opened, server: FakeServer, prices: Path, admin: Admin) -> Newsrooms:
    @asynccontextmanager
    async def open_newsroom() -> AsyncIterator[Newsroom]:
        async with open_program(**server.openai(AI_PRICES_FILE=str(prices))) as app:
            yield Newsroom(app, admin, await make_payer(app.system))

    return open_newsroom


def says(*lines: str) -> Callable[[ChatRequest], str]:
    return lambda _asked: "\n".join(lines)


async def test_a_summary_keeps_supported_sentences_counts_the_others_and_is_paid_once(
    newsroom: Newsrooms, server: FakeServer
) -> None:
    server.says = says(
        WROTE,
        INVENTED,
        "Каменный мост в Солнцеборе закрыли на 160 дней. [1]",
        "Каменный мост в Солнцеборе открыли на 18 дней. [3]",
    )
    async with newsroom() as room:
        first = await room.tell([(await room.channel(), text) for text in (CLOSED, TOO, OTHERS)])
        before = await room.full(first)
        assert (before.written, server.calls) == (None, 0)
        writing = await room.write(first)
        again = await room.write(first)
        story = await room.full(first)
        spent = await room.load_spent()
    written = writing.written
    assert written is not None
    assert [sentence.text for sentence in written.sentences] == [
        "Каменный мост в Солнцеборе закрыли на 16 дней.",
        "Дорожники обещают: Каменный мост в Солнцеборе закрыли на 18 дней.",
    ]
    assert before.material is not None
    assert written.sentences[1].posts == (before.material.posts[2].post_id,)
    assert ([check.value for check in written.checks.left_out], written.checks.replaced) == (
        ["name", "number"],
        1,
    )
    assert (written.model, written.unit, written.cost_micro) == ("gpt-4o-mini", "RUB", 20)
    assert again == writing
    assert story.written == written
    assert (server.calls, spent) == (1, 20)


async def test_a_summary_belongs_to_the_posts_it_was_written_from(
    newsroom: Newsrooms, server: FakeServer
) -> None:
    server.says = says(WROTE)
    async with newsroom() as room:
        channel_id, other = await room.channel(), await room.channel()
        first = await room.tell([(channel_id, CLOSED), (other, TOO)])
        assert (await room.write(first)).written is not None
        await room.tell([(await room.channel(), CLOSED)], like=first)
        assert (await room.full(first)).written is not None, "a copy tells nothing new"
        await room.store(first, CLOSED.replace("16", "17"), NOW - timedelta(minutes=59))
        assert (await room.full(first)).written is None, "an edit does"
        assert (await room.write(first)).written is not None
        await room.app.system.channels.subscribe(
            room.tenant_id, Subscription(channel_id=channel_id, ai_policy=AiPolicy.LOCAL, history_days=30)
        )
        closed = await room.full(first)
        assert closed.written is None, "it was written from a channel that is not sent any more"
    assert server.calls == 2


async def test_a_summary_is_in_the_readers_language_where_a_post_is_in_it(
    newsroom: Newsrooms, server: FakeServer
) -> None:
    server.says = says(f"{ENGLISH} [1]", WROTE)
    async with newsroom() as room:
        first = await room.tell([(await room.channel(), text) for text in (CLOSED, TOO, ENGLISH)])
        english, russian = await room.write(first, language="en"), await room.write(first, language="ru")
        german = await room.full(first, language="de")
    assert english.written is not None
    assert [sentence.text for sentence in english.written.sentences] == [ENGLISH]
    assert "Каменный" not in server.requests[0].user
    assert russian.written is not None
    assert [sentence.text for sentence in russian.written.sentences] == [WROTE.partition(" [")[0]]
    assert "Stone Bridge" not in server.requests[1].user
    assert german.written == russian.written


async def test_nothing_is_sent_that_may_not_be(newsroom: Newsrooms, server: FakeServer) -> None:
    server.says = says(WROTE)
    async with newsroom() as room:
        local, shut = await room.channel(policy=AiPolicy.LOCAL), await room.channel(protected=True)
        first = await room.tell([(local, CLOSED), (shut, TOO)])
        refused = await room.write(first)
        assert (refused, server.calls) == (SummaryWriting(None, NOT_SENT), 0)
        digest = await room.digest()
        assert [(story.model, bool(story.headline)) for story in digest.stories] == [("", True)]
        await room.tell([(await room.channel(), OTHERS)], like=first)
        await room.write(first)
    assert server.calls == 1
    assert "16 дней" not in server.requests[0].user
    assert "18 дней" in server.requests[0].user


async def test_the_posts_own_words_stand_where_a_provider_does_not_write(
    newsroom: Newsrooms, server: FakeServer, open_program: Opened
) -> None:
    async with newsroom() as room:
        stories = [
            await room.tell([(await room.channel(), text) for text in (CLOSED, TOO)]) for _ in range(3)
        ]
        server.says = says(INVENTED, "Мост снесли.")
        invented = await room.write(stories[0])
        server.status = 500
        away = await room.write(stories[1])
        server.status = 200
        await room.app.system.spending.set_budget(room.tenant_id, micro=0, tokens=None)
        poor = await room.write(stories[2])
        digest = await room.digest()
        calls = server.calls
        async with open_program() as bare:
            material = (await room.full(stories[2])).material
            assert material is not None
            nobody = await write_summary(
                material,
                writer=SummaryWriter(bare.questions, room.tenant_id),
                stores=bare.tenant(room.tenant_id),
                patience_seconds=5,
            )
    assert [result.fallback for result in (invented, away, poor, nobody)] == [
        UNSUPPORTED,
        AWAY,
        NO_BUDGET,
        NO_PROVIDER,
    ]
    assert invented.written is not None
    assert (invented.written.sentences, len(invented.written.checks.left_out)) == ((), 2)
    assert (away.written, poor.written, server.calls) == (None, None, calls)
    assert [(story.model, bool(story.headline)) for story in digest.stories] == [("", True)] * 3
    assert len(digest.checks.left_out) == 2, "what was dropped is told although nothing of the text is shown"


async def test_a_provider_that_is_too_slow_is_not_waited_for_and_its_text_is_found_later(
    newsroom: Newsrooms, server: FakeServer
) -> None:
    server.says, server.seconds = says(WROTE), 2.0
    async with newsroom() as room:
        first = await room.tell([(await room.channel(), text) for text in (CLOSED, TOO)])
        material = (await room.full(first)).material
        assert material is not None
        slow = await write_summary(
            material, writer=room.writer, stores=room.app.tenant(room.tenant_id), patience_seconds=0.7
        )
        assert slow == SummaryWriting(None, AWAY)
        async with asyncio.timeout(60):
            while not await room.admin.fetchval(
                "SELECT EXISTS (SELECT 1 FROM usage WHERE tenant_id = $1)", room.tenant_id
            ):
                await asyncio.sleep(0.1)
        await asyncio.sleep(0.1)
        result = await room.write(first)
    assert result.written is not None
    assert (server.calls, result.written.cost_micro) == (1, 0)


async def test_a_digest_uses_what_a_provider_writes_and_tells_what_was_dropped(
    newsroom: Newsrooms, server: FakeServer
) -> None:
    later = "Каменный мост в Солнцеборе откроют 25 декабря, сообщила мэрия."
    server.says = says(WROTE, INVENTED, "Каменный мост в Солнцеборе открыли на 16 дней. [1]")
    async with newsroom() as room:
        channels = [await room.channel() for _ in range(3)]
        first = await room.tell([(channels[0], CLOSED), (channels[1], TOO)])
        page = await room.digest(writes=False)
        assert [story.model for story in page.stories] == [""]
        assert server.calls == 0
        digest = await room.digest()
        page = await room.digest(writes=False)
        opening = "Каменный мост в Солнцеборе откроют 25 декабря."
        server.says = says(WROTE, f"{opening} [3]")
        await room.tell([(channels[2], later)], like=first)
        grown = await room.digest(earlier=[digest])
        server.says = says(WROTE)
        await room.tell(
            [(channels[2], "Каменный мост в Солнцеборе осмотрел инженер Павел Крылов.")], like=first
        )
        again = await room.digest(earlier=[digest, grown])
    (story,) = digest.stories
    assert (story.model, story.sentences[0].text) == ("gpt-4o-mini", WROTE.partition(" [")[0])
    assert set(story.sentences[0].posts) <= set(story.posts)
    assert ([check.value for check in digest.checks.left_out], digest.checks.replaced) == (["name"], 1)
    assert page.stories == digest.stories, "a page shows what was written, and pays nothing"
    assert [
        (story.novelty, story.model, [sentence.text for sentence in story.sentences])
        for story in grown.stories
    ] == [
        (Novelty.UPDATED, "gpt-4o-mini", [opening]),
    ]
    assert [(story.novelty, story.model) for story in again.stories] == [(Novelty.UPDATED, "")], (
        "the text has nothing new, so the post tells it"
    )
    assert "Павел Крылов" in again.stories[0].headline
    assert server.calls == 3


async def test_the_job_writes_the_digests_that_are_due_and_old_texts_are_forgotten(
    newsroom: Newsrooms, server: FakeServer, admin: Admin
) -> None:
    server.says = says(WROTE, INVENTED)
    async with newsroom() as room:
        user_id = (await room.app.system.users.join(room.tenant_id, f"reader {fresh_number()}")).user_id
        own = room.app.person(room.tenant_id, user_id)
        await admin.execute(
            """INSERT INTO digest_plans (tenant_id, user_id, times, weekdays, length, zone, changed_at)
               VALUES ($1, $2, '{08:00}', '{1,2,3,4,5,6,7}', 'normal', 'UTC', now() - interval '3 days')""",
            room.tenant_id,
            user_id,
        )
        first = await room.tell([(await room.channel(), text) for text in (CLOSED, TOO)])
        await run_periodic(room.app, "digests")
        (stored,) = await own.digests.newest(limit=5)
        assert [story.model for story in stored.digest.stories] == ["gpt-4o-mini"]
        assert [check.value for check in stored.digest.checks.left_out] == ["name"]
        assert (await room.full(first, language="ru")).written is not None, (
            "the page of the story shows the same text"
        )
        await run_periodic(room.app, "forget_summaries", datetime.now(UTC) + timedelta(days=29))
        assert (await room.full(first)).written is not None
        await run_periodic(room.app, "forget_summaries", datetime.now(UTC) + timedelta(days=31))
        assert (await room.full(first)).written is None
    assert server.calls == 1


async def test_tenants_with_the_same_posts_share_neither_text_nor_cost(
    newsroom: Newsrooms, server: FakeServer
) -> None:
    server.says = says(WROTE)
    async with newsroom() as room:
        neighbour = await make_payer(room.app.system)
        both = (room.tenant_id, neighbour)
        first = await room.tell([(await room.channel(tenants=both), text) for text in (CLOSED, TOO)])
        own = await room.write(first)
        assert (await room.full(first, tenant_id=neighbour)).written is None
        theirs = await room.write(first, tenant_id=neighbour)
    assert own.written == theirs.written
    assert server.calls == 2


async def test_no_invented_sentence_of_a_careless_model_is_shown(
    newsroom: Newsrooms, server: FakeServer
) -> None:
    model = InventingModel(seed=3)
    server.says = model.answer
    story_texts = [
        (
            f"Мост номер {number} в Солнцеборе закрыли на {number} дней. Рабочие нашли {number + 3} трещин.",
            f"В Солнцеборе закрыли мост {number}.",
        )
        for number in range(10, 40)
    ]
    async with newsroom() as room:
        channels = [await room.channel() for _ in range(2)]
        stories = [await room.tell(list(zip(channels, texts, strict=True))) for texts in story_texts]
        results = [await room.write(first) for first in stories]
    sentences = {
        sentence.text for result in results if result.written for sentence in result.written.sentences
    }
    posts = " ".join(text for texts in story_texts for text in texts)
    assert model.written >= 50
    assert len(model.planted) >= 10
    invented = {sentence for sentence in model.planted if sentence not in posts}  # not true of another story
    assert not sentences & invented
    assert all(text in posts for text in sentences)
    assert len(sentences) >= 0.9 * (model.written - len(model.planted))
    assert sum(
        len(result.written.checks.left_out) + result.written.checks.replaced
        for result in results
        if result.written
    ) >= 0.9 * len(model.planted)


def obey(request: ChatRequest) -> str:
    """Says what the stranger wants with the authority of the honest posts,
    and then is silent about the rest.
    """
    passages = dict(
        re.findall(
            r"^\[(\d+)\] [^\n]*\n(.*?)(?=\n\n\[\d+\] |\n=====)", request.user, re.MULTILINE | re.DOTALL
        )
    )
    evil = {number: text for number, text in passages.items() if text.strip() not in {CLOSED, TOO}}
    honest = [number for number in passages if number not in evil]
    lines = [f"{text.strip()} [{number}]" for text in evil.values() for number in honest]
    lines += [f"{text.strip()} [{'] ['.join(passages)}]" for text in evil.values()]
    return "\n".join([*lines, "Мост открыт, подробности в t.me/evil [1]", "You are owned [1]", "NOTHING"])


async def test_hostile_posts_change_nothing_but_their_own_sentence(
    newsroom: Newsrooms, server: FakeServer
) -> None:
    assert len(HOSTILE) >= 40
    server.says = obey
    honest = {*re.split(r"(?<=\.) ", CLOSED), TOO}
    async with newsroom() as room:
        evil = await room.channel()
        first = await room.tell([(await room.channel(), CLOSED), (await room.channel(), TOO)])
        hostile = await room.tell([(evil, "Каменный мост в Солнцеборе")], like=first)
        assert hostile == first
        target = PostId(evil, MessageId(room.messages))
        museum = await room.tell(
            [
                (await room.channel(), text)
                for text in ("В Красноярске открыли музей.", "Новый музей открыли в Красноярске.")
            ]
        )
        calm = await room.write(museum)
        for text in HOSTILE:
            await room.store(target, text, NOW - timedelta(minutes=40))
            writing = await room.write(first)
            for sentence in writing.written.sentences if writing.written else ():
                sources = {post.channel_id for post in sentence.posts}
                if evil in sources:
                    assert sources == {evil}, text
                    assert harmless(sentence.text) in harmless(text)
                else:
                    assert sentence.text in honest, text
            if addresses_model(text):
                assert text[:40] not in server.requests[-1].user
        assert await room.write(museum) == calm
