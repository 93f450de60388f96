"""Nothing is sent to an address before somebody there has said yes; a reader can stop mails without a login;
secrets are sealed.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID, uuid4

import pytest
from standardwebhooks.webhooks import Webhook as StandardWebhook

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.receivers.delivery import ReceiverKind
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.features.receivers import subscriptions
from telegram_assistant.features.receivers.receiver_links import (
    echoes_code,
    read_confirm_token,
    read_unsubscribe_token,
)
from telegram_assistant.features.receivers.receivers import (
    CreatedReceiver,
    confirm_receiver,
    create_receiver,
    replace_secret,
    resume_receiver,
    send_code_again,
)
from telegram_assistant.features.receivers.sending import MAX_CODES_PER_DAY, Sender, send_to_one
from telegram_assistant.outbound.mail import Mailer
from telegram_assistant.outbound.webhooks import WebhookClient
from telegram_assistant.sealing import Sealer
from telegram_assistant.settings import MailSettings, read_group
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import SystemStores, TenantStores, person_stores, tenant_stores
from testkit.factories import make_tenant
from testkit.receiving import OPEN_GUARD, MailServer, Request, Webhook, serve
from tests.conftest import Admin
from tests.features.receivers.test_sending_digests import make_digest

SEALER = Sealer("a secret of the installation, for tests")


@dataclass
class Office:
    """A tenant without receivers, a person whose digests are sent, and the process that sends."""

    stores: TenantStores
    tenant_id: TenantId
    save_digest: Callable[[UUID], Awaitable[None]]
    sender: Sender
    now: datetime

    async def create(self, kind: ReceiverKind, address: str) -> CreatedReceiver:
        return await create_receiver(
            kind,
            str(uuid4()),
            address,
            stores=self.stores,
            sealer=SEALER,
            guard=OPEN_GUARD,
            language="en",
            created_by="anna",
        )

    def tenant(self, tenant_id: TenantId) -> TenantStores:
        return self.sender.tenant(tenant_id, None)

    async def send(self) -> None:
        while await send_to_one(self.sender, clock=lambda: self.now):
            pass

    async def is_confirmed(self, receiver_id: UUID) -> bool:
        (receiver,) = [
            receiver for receiver in await self.stores.receivers.all() if receiver.receiver_id == receiver_id
        ]
        return receiver.confirmed_at is not None


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    async with serve(Webhook()) as server:
        yield server


@pytest.fixture
async def mails() -> AsyncIterator[MailServer]:
    async with serve(MailServer()) as server:
        yield server


@pytest.fixture
async def office(system: SystemStores, pool: Pool, mails: MailServer, admin: Admin) -> AsyncIterator[Office]:
    await admin.execute("UPDATE receivers SET paused_at = now()")  # those of other tests
    await admin.execute("TRUNCATE letter_counts")
    tenant_id = await make_tenant(system)
    user_id = (await system.users.join(tenant_id, f"reader {uuid4()}")).user_id
    client = WebhookClient(OPEN_GUARD)
    environ = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(mails.port), "SMTP_SECURITY": "none"}
    sender = Sender(
        deliveries=system.deliveries,
        tenant=partial(tenant_stores, pool),
        person=partial(person_stores, pool),
        webhooks=client,
        mailer=Mailer(read_group(MailSettings, environ), "https://news.example"),
        sealer=SEALER,
        owner="one",
        per_hour=1000,
    )
    digests = person_stores(pool, tenant_id, user_id).digests

    async def save_digest(receiver_id: UUID) -> None:
        await digests.save(uuid4(), make_digest("The bridge is closed"), receivers=(receiver_id,))

    yield Office(
        tenant_stores(pool, tenant_id),
        tenant_id,
        save_digest,
        sender,
        datetime.now(UTC) + timedelta(minutes=1),
    )
    await client.close()


def code_in(request: Request) -> str:
    assert request.data["type"] == "receiver.confirmation"
    code: str = request.data["data"]["code"]
    return code


async def test_a_webhook_gets_its_code_and_nothing_else_before_the_owner_types_it(
    office: Office, webhook: Webhook
) -> None:
    receiver_id = (await office.create(ReceiverKind.WEBHOOK, webhook.url)).receiver.receiver_id
    await office.save_digest(receiver_id)
    await office.send()
    (first,) = webhook.requests
    with pytest.raises(Rejected):
        await confirm_receiver(receiver_id, "AAAAAAAA", stores=office.stores, sealer=SEALER)
    await office.send()
    assert len(webhook.requests) == 1
    code = code_in(first)
    await confirm_receiver(
        receiver_id, f" {code[:4].lower()}-{code[4:]} ", stores=office.stores, sealer=SEALER
    )
    await office.save_digest(receiver_id)
    await office.send()
    assert [request.data["type"] for request in webhook.requests] == ["receiver.confirmation", "digest.ready"]


@pytest.mark.parametrize("form", ["{code}", '{{"code": "{code}"}}', ' "{code}" \n'])
async def test_a_receiver_that_answers_with_its_code_is_confirmed(
    office: Office, webhook: Webhook, form: str
) -> None:
    webhook.answer = lambda request: form.format(code=request.data["data"]["code"]).encode()
    receiver_id = (await office.create(ReceiverKind.WEBHOOK, webhook.url)).receiver.receiver_id
    await office.send()
    assert await office.is_confirmed(receiver_id)


async def test_a_server_that_sends_everything_back_confirms_nothing(office: Office, webhook: Webhook) -> None:
    webhook.answer = lambda request: request.body
    receiver_id = (await office.create(ReceiverKind.WEBHOOK, webhook.url)).receiver.receiver_id
    await office.send()
    assert not await office.is_confirmed(receiver_id)
    assert not echoes_code(b'["K7QXN2PA"]', "K7QXN2PA")
    assert not echoes_code(b'{"code": "K7QXN2PA", "more": 1}', "K7QXN2PA")


async def test_codes_cannot_be_guessed_for_long_and_a_new_code_ends_the_old_one(
    office: Office, webhook: Webhook
) -> None:
    receiver_id = (await office.create(ReceiverKind.WEBHOOK, webhook.url)).receiver.receiver_id
    await office.send()
    first = code_in(webhook.requests[0])
    for _ in range(10):
        with pytest.raises(Rejected):
            await confirm_receiver(receiver_id, "AAAAAAAA", stores=office.stores, sealer=SEALER)
    with pytest.raises(Rejected, match="send a new code"):
        await confirm_receiver(receiver_id, first, stores=office.stores, sealer=SEALER)
    await send_code_again(receiver_id, stores=office.stores)
    await office.send()
    second = code_in(webhook.requests[1])
    with pytest.raises(Rejected):
        await confirm_receiver(receiver_id, first, stores=office.stores, sealer=SEALER)
    await confirm_receiver(receiver_id, second, stores=office.stores, sealer=SEALER)
    with pytest.raises(Conflicting):
        await send_code_again(receiver_id, stores=office.stores)


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        (ReceiverKind.WEBHOOK, "https://desk.example/alerts", "https://DESK.example:443/alerts"),
        (ReceiverKind.EMAIL, "anna@desk.example", "Anna@Desk.example"),
    ],
)
async def test_an_address_is_used_once_in_a_tenant(
    office: Office, kind: ReceiverKind, first: str, second: str
) -> None:
    await office.create(kind, first)
    with pytest.raises(Conflicting):
        await office.create(kind, second)


def link_in(mails: MailServer, kind: str) -> str:
    text = mails.messages[-1].get_body(("plain",))
    assert text is not None
    words: list[str] = text.get_content().split()
    return next(word for word in words if f"/{kind}/" in word).rpartition("/")[2]


async def test_a_mail_address_is_asked_first_in_words_that_no_tenant_wrote_and_confirmed_by_a_link(
    office: Office, mails: MailServer
) -> None:
    receiver = (await office.create(ReceiverKind.EMAIL, "ceo@victim.example")).receiver
    await office.save_digest(receiver.receiver_id)
    await office.send()
    (request_mail,) = mails.messages
    assert "List-Unsubscribe" not in request_mail
    assert receiver.name not in request_mail.as_string()
    token = link_in(mails, "confirm")
    late = office.now + timedelta(days=8)
    assert read_confirm_token(token, sealer=SEALER, now=late) is None
    assert read_unsubscribe_token(token, sealer=SEALER) is None
    linked = subscriptions.read_confirm_link(token, sealer=SEALER, now=office.now)
    for _ in range(2):  # a person presses twice
        await subscriptions.confirm(linked, tenant=office.tenant)
    await office.save_digest(receiver.receiver_id)
    await office.send()
    assert [mail["Subject"] for mail in mails.messages][1:] == ["The bridge is closed"]


async def test_a_reader_unsubscribes_without_a_login_and_only_they_subscribe_again(
    office: Office, mails: MailServer
) -> None:
    receiver = (await office.create(ReceiverKind.EMAIL, "reader@victim.example")).receiver
    await office.send()
    confirm_link = subscriptions.read_confirm_link(link_in(mails, "confirm"), sealer=SEALER, now=office.now)
    await subscriptions.confirm(confirm_link, tenant=office.tenant)
    await office.save_digest(receiver.receiver_id)
    await office.send()
    header = mails.messages[-1]["List-Unsubscribe"]
    assert mails.messages[-1]["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert header == f"<https://news.example/unsubscribe/{link_in(mails, 'unsubscribe')}>"
    linked = subscriptions.read_unsubscribe_link(link_in(mails, "unsubscribe"), sealer=SEALER)
    await office.save_digest(receiver.receiver_id)
    for _ in range(2):
        await subscriptions.unsubscribe(linked, tenant=office.tenant)
    count = len(mails.messages)
    with pytest.raises(Rejected):
        await resume_receiver(receiver.receiver_id, stores=office.stores)
    with pytest.raises(Rejected):
        await send_code_again(receiver.receiver_id, stores=office.stores)
    with pytest.raises(Missing):
        await subscriptions.confirm(confirm_link, tenant=office.tenant)
    await office.save_digest(receiver.receiver_id)
    await office.send()
    assert len(mails.messages) == count
    await office.stores.receivers.delete(receiver.receiver_id)
    with pytest.raises(Rejected, match="unsubscribed"):
        await office.create(ReceiverKind.EMAIL, "Reader@victim.example")


async def test_a_reader_who_subscribes_again_gets_mails_again(office: Office, mails: MailServer) -> None:
    receiver = (await office.create(ReceiverKind.EMAIL, "back@victim.example")).receiver
    await office.send()
    linked = subscriptions.read_confirm_link(link_in(mails, "confirm"), sealer=SEALER, now=office.now)
    await subscriptions.confirm(linked, tenant=office.tenant)
    await subscriptions.unsubscribe(linked, tenant=office.tenant)
    await subscriptions.subscribe_again(linked, tenant=office.tenant)
    await office.save_digest(receiver.receiver_id)
    await office.send()
    assert mails.messages[-1]["Subject"] == "The bridge is closed"


async def test_an_address_is_asked_three_times_a_day_at_most_whoever_asks(
    office: Office, mails: MailServer, system: SystemStores, pool: Pool
) -> None:
    for _ in range(MAX_CODES_PER_DAY + 2):
        other = replace(office, stores=tenant_stores(pool, await make_tenant(system)))
        await other.create(ReceiverKind.EMAIL, "ceo@victim.example")
    await office.send()
    assert len(mails.messages) == MAX_CODES_PER_DAY
    office.now += timedelta(days=1)
    await office.send()
    assert len(mails.messages) == MAX_CODES_PER_DAY + 2


async def test_mails_that_the_server_refuses_are_not_counted_for_the_address(
    office: Office, admin: Admin
) -> None:
    office.sender = replace(
        office.sender, mailer=Mailer(read_group(MailSettings, {}), "https://news.example")
    )
    await office.create(ReceiverKind.EMAIL, "anna@desk.example")
    await office.send()
    assert await admin.fetchval("SELECT sum(letters) + sum(codes) FROM letter_counts") == 0


async def test_a_replaced_secret_is_valid_for_a_day_and_no_secret_lies_in_the_clear(
    office: Office, webhook: Webhook, admin: Admin
) -> None:
    webhook.answer = lambda request: request.data["data"].get("code", "").encode()
    created = await office.create(ReceiverKind.WEBHOOK, webhook.url)
    receiver_id = created.receiver.receiver_id
    office.now = datetime.now(UTC)
    await office.send()
    replaced = await replace_secret(receiver_id, stores=office.stores, sealer=SEALER)
    assert replaced.receiver.old_secret_until is not None
    await office.save_digest(receiver_id)
    office.now = datetime.now(UTC)
    await office.send()
    both = webhook.requests[-1]
    for secret in (created.secret, replaced.secret):
        StandardWebhook(secret).verify(both.body, both.headers)
    office.now += timedelta(days=1, minutes=1)
    await office.save_digest(receiver_id)
    await office.send()
    assert len(webhook.requests[-1].headers["webhook-signature"].split()) == 1
    stored = str(
        await admin.fetch("SELECT * FROM receivers r JOIN receiver_secrets s USING (tenant_id, receiver_id)")
    )
    assert not any(secret.removeprefix("whsec_") in stored for secret in (created.secret, replaced.secret))
    assert created.secret not in repr(created)


async def test_with_another_secret_key_a_webhook_is_paused_until_it_gets_a_new_secret(
    office: Office, webhook: Webhook
) -> None:
    webhook.answer = lambda request: request.data["data"].get("code", "").encode()
    receiver_id = (await office.create(ReceiverKind.WEBHOOK, webhook.url)).receiver.receiver_id
    await office.send()
    await office.save_digest(receiver_id)
    await replace(
        office, sender=replace(office.sender, sealer=Sealer("another secret of the installation"))
    ).send()
    (receiver,) = await office.stores.receivers.all()
    assert receiver.trouble is not None
    assert (receiver.trouble.code, receiver.paused_at is not None) == ("webhook_secret_unusable", True)
    await replace_secret(receiver_id, stores=office.stores, sealer=SEALER)
    await resume_receiver(receiver_id, stores=office.stores)
    await office.send()
    assert webhook.requests[-1].data["type"] == "digest.ready"


async def test_without_a_secret_key_a_receiver_is_refused_with_who_can_help(
    office: Office, webhook: Webhook
) -> None:
    with pytest.raises(Rejected, match="its operator can enable that"):
        await create_receiver(
            ReceiverKind.WEBHOOK,
            "desk",
            webhook.url,
            stores=office.stores,
            sealer=Sealer(""),
            guard=OPEN_GUARD,
            language="en",
            created_by="anna",
        )
