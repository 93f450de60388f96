"""Digests reach their receivers as mails and signed requests, once for each id,
and feed readers at a secret address.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from functools import partial
from uuid import UUID, uuid4

import pytest

from telegram_assistant.domain.digests.digest import Digest, DigestSentence, DigestStory, Novelty
from telegram_assistant.domain.digests.plan import DigestPlan, make_plan
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId, TenantId, UserId
from telegram_assistant.domain.receivers.delivery import ReceiverKind, new_secret
from telegram_assistant.errors import Missing
from telegram_assistant.features.digests.digests import set_plan
from telegram_assistant.features.receivers.rss_feeds import OWN_DIGESTS, create_feed, find_feed, read_feed
from telegram_assistant.features.receivers.sending import LEASE, Sender, send_to_one
from telegram_assistant.outbound.mail import Mailer
from telegram_assistant.outbound.webhooks import WebhookClient
from telegram_assistant.sealing import Sealer
from telegram_assistant.settings import MailSettings, read_group
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedKind
from telegram_assistant.stores.postgres.stores import (
    ApiStores,
    PersonStores,
    SystemStores,
    TenantStores,
    person_stores,
    tenant_stores,
)
from testkit.factories import fresh_number, make_tenant
from testkit.receiving import OPEN_GUARD, MailServer, Webhook, make_receiver, serve
from tests.conftest import Admin

SEALER = Sealer("a secret of the installation, for tests")
PER_HOUR = 1000
POST = PostId(ChannelId(77), MessageId(5))


def make_digest(*headlines: str) -> Digest:
    until = datetime.now(UTC)
    sentence = DigestSentence("Осмотр опор нашёл <4> трещины.", (POST,), others_say=("5 трещин",))
    stories = [
        DigestStory(Novelty.NEW, headline, (sentence,), ("Канал & Ко",), until, (POST,), ("мосты",))
        for headline in headlines
    ]
    return Digest(until - timedelta(days=1), until, tuple(stories))


@dataclass
class Reader:
    """A person of a tenant, their receivers, and the process that sends."""

    system: SystemStores
    stores: TenantStores
    own: PersonStores
    tenant_id: TenantId
    user_id: UserId
    sender: Sender
    now: datetime

    async def receiver(self, kind: ReceiverKind, address: str) -> UUID:
        name = str(uuid4())
        return (
            await make_receiver(kind, name, address, stores=self.stores, sealer=SEALER, language="ru")
        ).receiver_id

    async def send(self, sender: Sender | None = None) -> None:
        while await send_to_one(sender or self.sender, clock=lambda: self.now):
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
async def reader(system: SystemStores, pool: Pool, mails: MailServer, admin: Admin) -> AsyncIterator[Reader]:
    await admin.execute("UPDATE receivers SET paused_at = now()")  # those of other tests
    tenant_id = await make_tenant(system)
    user_id = (await system.users.join(tenant_id, f"reader {fresh_number()}")).user_id
    client = WebhookClient(OPEN_GUARD)
    post_office = {
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(mails.port),
        "SMTP_SECURITY": "none",
        "SMTP_FROM": "news@desk.example",
    }
    mailer = Mailer(read_group(MailSettings, post_office), "http://here")
    sender = Sender(
        deliveries=system.deliveries,
        tenant=partial(tenant_stores, pool),
        person=partial(person_stores, pool),
        webhooks=client,
        mailer=mailer,
        sealer=SEALER,
        owner="one",
        per_hour=PER_HOUR,
    )
    own = person_stores(pool, tenant_id, user_id)
    yield Reader(
        system,
        tenant_stores(pool, tenant_id),
        own,
        tenant_id,
        user_id,
        sender,
        datetime.now(UTC) + timedelta(minutes=1),
    )
    await client.close()


async def test_a_digest_is_sent_to_each_chosen_receiver_with_an_id_that_survives_failures_and_kills(
    reader: Reader, webhook: Webhook
) -> None:
    first, second = (
        await reader.receiver(ReceiverKind.WEBHOOK, webhook.url),
        await reader.receiver(ReceiverKind.WEBHOOK, f"{webhook.url}/2"),
    )
    digest_id, digest = uuid4(), make_digest("Мост закрыли")
    gone = uuid4()
    assert await reader.own.digests.save(digest_id, digest, receivers=(first, second, gone))
    assert not await reader.own.digests.save(digest_id, digest, receivers=(first, second))
    webhook.status = 503
    await reader.send()
    webhook.status = 200
    reader.now += timedelta(minutes=1)
    killed = replace(reader.sender, owner="killed")
    receiver = await killed.deliveries.claim(owner="killed", lease=LEASE, now=reader.now, per_hour=PER_HOUR)
    assert receiver is not None
    (sent,) = await killed.deliveries.waiting(
        receiver, owner="killed", lease=LEASE, now=reader.now, per_hour=PER_HOUR, limit=1
    )
    body = b"{}"  # sent by a process that was killed before it could note it
    sent_by_killed = await killed.webhooks.send(
        webhook.url, body, active_secrets=[new_secret()], message_id=sent.delivery_id, now=reader.now
    )
    assert sent_by_killed.trouble is None
    reader.now += LEASE + timedelta(seconds=1)
    await reader.send()
    ids = [delivery.headers["webhook-id"] for delivery in webhook.requests]
    assert (len(ids), len(set(ids))) == (3, 2)
    assert ids.count(str(sent.delivery_id)) == 2
    for request in webhook.requests[1:]:
        assert request.data.keys() == {"type", "timestamp", "data"}
        assert request.data["type"] == "digest.ready"
        assert [story["headline"] for story in request.data["data"]["items"]] == ["Мост закрыли"]
        assert request.data["data"]["link"].endswith(f"/digest/{digest_id}")
    assert [receiver.waiting for receiver in await reader.stores.receivers.all()] == [0, 0]


async def test_a_digest_is_a_mail_in_html_and_plain_text_and_alerts_do_not_mix_with_it(
    reader: Reader, mails: MailServer
) -> None:
    receiver_id = await reader.receiver(ReceiverKind.EMAIL, "reader@desk.example")
    await reader.own.digests.set_plan(DigestPlan(zone="Europe/Moscow"))
    for headlines in (("Мост закрыли", "Музей открыли"), ("Дождь",)):
        await reader.own.digests.save(uuid4(), make_digest(*headlines), receivers=(receiver_id,))
    await reader.send()
    first, second = mails.messages
    assert (first["Subject"], second["Subject"]) == ("Мост закрыли и ещё 1 сюжет", "Дождь")
    assert first["Message-ID"] != second["Message-ID"]
    plain, html = first.get_body(("plain",)), first.get_body(("html",))
    assert plain is not None
    assert html is not None
    text, page = plain.get_content(), html.get_content()
    assert "Осмотр опор нашёл <4> трещины. [1] (другие пишут: 5 трещин)" in text
    assert "/post/77/5" in text
    assert "Осмотр опор нашёл &lt;4&gt; трещины." in page
    assert "Канал &amp; Ко" in page
    assert "/story/77/5" in page
    assert "/digest/plan" in text


async def test_a_plan_chooses_only_receivers_of_its_own_tenant(
    reader: Reader, system: SystemStores, pool: Pool, webhook: Webhook
) -> None:
    other = tenant_stores(pool, await make_tenant(system))
    made = await make_receiver(ReceiverKind.WEBHOOK, "theirs", webhook.url, stores=other, sealer=SEALER)
    foreign = made.receiver_id
    with pytest.raises(Missing):
        await set_plan(
            make_plan([time(8)], zone="UTC", receivers=[foreign]),
            stores=reader.stores,
            digests=reader.own.digests,
        )
    await reader.own.digests.save(uuid4(), make_digest("Мост"), receivers=(foreign,))
    await reader.send()
    assert webhook.requests == []


async def test_a_feed_lists_the_digests_of_one_person_until_they_leave(
    reader: Reader, api: ApiStores, admin: Admin
) -> None:
    created = await create_feed(
        FeedKind.DIGEST,
        OWN_DIGESTS,
        stores=reader.stores,
        created_by="anna",
        user_id=reader.user_id,
        language="ru",
    )
    await reader.own.digests.save(uuid4(), make_digest("Мост закрыли"))
    await reader.own.digests.save(uuid4(), make_digest())
    feed = await find_feed(created.token, directory=api.feed_directory)
    assert feed.user_id == reader.user_id
    content = await read_feed(
        feed, stores=reader.stores, own=reader.own, now=reader.now, base_url="http://here"
    )
    (entry,) = content.entries
    assert "Мост закрыли" in entry.text
    assert "<h2" in entry.html
    assert "Мост закрыли" in entry.html
    assert 'href="http://here/t/' in entry.html
    assert "style=" not in entry.html
    assert content.page.startswith("http://here/t/")
    assert entry.link.startswith("http://here/t/")
    await admin.execute("DELETE FROM memberships WHERE tenant_id = $1", reader.tenant_id)
    with pytest.raises(Missing):
        await find_feed(created.token, directory=api.feed_directory)
