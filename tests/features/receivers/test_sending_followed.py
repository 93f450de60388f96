"""Alerts about followed stories reach the receivers of their person, and nobody else's."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

import pytest

from telegram_assistant.domain.digests.plan import DigestPlan
from telegram_assistant.domain.ids import PostId, TenantId, UserId
from telegram_assistant.domain.receivers.delivery import ReceiverKind
from telegram_assistant.domain.stories.marks import Mark
from telegram_assistant.domain.watches.watch import QuietHours, WatchKind, WatchOptions, WatchTarget
from telegram_assistant.features.digests.digests import set_plan
from telegram_assistant.features.receivers.sending import Sender, send_to_one
from telegram_assistant.features.stories.marks import mark_story
from telegram_assistant.features.watches.watches import create_watch
from telegram_assistant.outbound.mail import Mailer
from telegram_assistant.outbound.webhooks import WebhookClient
from telegram_assistant.sealing import Sealer
from telegram_assistant.settings import MailSettings, read_group
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import SystemStores, person_stores, tenant_stores
from testkit.receiving import OPEN_GUARD, MailServer, Webhook, make_receiver, serve
from tests.conftest import Admin
from tests.features.story_desk import AGAIN, FLOOD, StoryDesk

SEALER = Sealer("a secret of the installation, for tests")
SMTP = {"SMTP_HOST": "127.0.0.1", "SMTP_SECURITY": "none", "SMTP_FROM": "news@desk.example"}


@dataclass
class Follower:
    """Anna, who follows a story, and the process that sends to her receivers."""

    desk: StoryDesk
    tenant_id: TenantId
    anna: UserId
    first: PostId
    sender: Sender
    now: datetime

    async def receive(self, kind: ReceiverKind, address: str, *, chosen_by: UserId) -> UUID:
        stores = self.desk.stores(self.tenant_id)
        made = await make_receiver(kind, address, address, stores=stores, sealer=SEALER, language="ru")
        digests = person_stores(self.desk.pool, self.tenant_id, chosen_by).digests
        await set_plan(DigestPlan(receivers=(made.receiver_id,)), stores=stores, digests=digests)
        return made.receiver_id

    async def post_news(self) -> PostId:
        later = await self.desk.post(AGAIN, self.tenant_id, minutes_ago=1)
        assert await self.desk.raise_followed() == 1
        return later

    async def send(self) -> None:
        while await send_to_one(self.sender, clock=lambda: self.now):
            pass


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    async with serve(Webhook()) as server:
        yield server


@pytest.fixture
async def mails() -> AsyncIterator[MailServer]:
    async with serve(MailServer()) as server:
        yield server


@pytest.fixture
async def follower(
    system: SystemStores, pool: Pool, mails: MailServer, admin: Admin
) -> AsyncIterator[Follower]:
    await admin.execute("UPDATE receivers SET paused_at = now()")  # those of other tests
    desk = StoryDesk(system, pool, admin)
    tenant_id = await desk.open()
    await desk.invite(tenant_id)  # a tenant keeps an owner
    anna = await desk.invite(tenant_id)
    first = await desk.post(FLOOD, tenant_id, minutes_ago=9)
    marks = person_stores(pool, tenant_id, anna).story_marks
    await mark_story(first, Mark.FOLLOWED, stores=desk.stores(tenant_id), marks=marks)
    client = WebhookClient(OPEN_GUARD)
    sender = Sender(
        deliveries=system.deliveries,
        tenant=partial(tenant_stores, pool),
        person=partial(person_stores, pool),
        webhooks=client,
        mailer=Mailer(read_group(MailSettings, {**SMTP, "SMTP_PORT": str(mails.port)}), "http://here"),
        sealer=SEALER,
        owner="one",
        per_hour=1000,
    )
    yield Follower(desk, tenant_id, anna, first, sender, datetime.now(UTC) + timedelta(minutes=1))
    await client.close()


async def test_news_of_a_followed_story_go_once_to_the_receivers_of_the_persons_digests(
    follower: Follower, webhook: Webhook, mails: MailServer
) -> None:
    boris = await follower.desk.invite(follower.tenant_id)
    await follower.receive(ReceiverKind.WEBHOOK, webhook.url, chosen_by=follower.anna)
    await follower.receive(ReceiverKind.EMAIL, "boris@desk.example", chosen_by=boris)
    later = await follower.post_news()
    await follower.desk.admin.execute("UPDATE stories SET changed_at = now()")
    assert await follower.desk.raise_followed() == 0
    await follower.send()
    (request,) = webhook.requests
    assert request.data["type"] == "alert.raised"
    alert = request.data["data"]
    assert (alert["kind"], alert["watch"], alert["post_id"], alert["text"]) == (
        "followed",
        "",
        str(later),
        AGAIN,
    )
    assert mails.messages == [], "Boris does not follow the story"


async def test_a_mail_names_the_followed_story_where_others_name_the_watch(
    follower: Follower, mails: MailServer
) -> None:
    await follower.receive(ReceiverKind.EMAIL, "anna@desk.example", chosen_by=follower.anna)
    await follower.post_news()
    await follower.send()
    (letter,) = mails.messages
    assert letter["Subject"].startswith("Новое в сюжете")
    assert AGAIN in " ".join(letter.get_content().split())


async def test_news_of_a_followed_story_wait_for_the_quiet_hours_of_the_receiver(
    follower: Follower, webhook: Webhook
) -> None:
    receiver_id = await follower.receive(ReceiverKind.WEBHOOK, webhook.url, chosen_by=follower.anna)
    here = datetime.now(UTC)
    quiet = QuietHours(
        (here - timedelta(hours=1)).time().replace(microsecond=0),
        (here + timedelta(hours=1)).time().replace(microsecond=0),
    )
    await create_watch(
        "Снег",
        WatchTarget(kind=WatchKind.WORDS, query="снег"),
        WatchOptions(receivers=(receiver_id,), quiet=quiet),
        stores=follower.desk.stores(follower.tenant_id),
        created_by="anna",
        now=here,
        zone=UTC,
    )
    await follower.post_news()
    await follower.send()
    assert webhook.requests == []
    follower.now = here + timedelta(hours=1, minutes=1)
    await follower.send()
    assert len(webhook.requests) == 1


async def test_what_waits_for_a_person_who_leaves_is_not_sent(follower: Follower, webhook: Webhook) -> None:
    await follower.receive(ReceiverKind.WEBHOOK, webhook.url, chosen_by=follower.anna)
    await follower.post_news()
    assert await follower.desk.system.users.remove(follower.tenant_id, follower.anna)
    await follower.send()
    assert webhook.requests == []
