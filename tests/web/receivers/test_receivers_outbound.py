"""A webhook in the operator's own network: opened by a setting, made on the page and by the API,
and delivered to.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.assembly import App, assemble
from telegram_assistant.crawling.page_reader import PageReader
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.understanding.pages import PageStatus
from telegram_assistant.domain.watches.watch import WatchKind, WatchOptions, WatchTarget
from telegram_assistant.features.receivers.sending import send_to_one
from telegram_assistant.features.watches.watches import create_watch
from telegram_assistant.settings import OutboundSettings, Settings, read_group
from testkit.api_clients import create_key_header, make_client, problem_of
from testkit.receiving import Webhook, serve
from testkit.web_clients import member_browser
from tests.conftest import Admin
from tests.web.watches.test_watches import follow, post

NAMED = "the operator of this server can allow it"


@asynccontextmanager
async def open_app(installation: Settings, hosts: str) -> AsyncIterator[App]:
    outbound = read_group(OutboundSettings, {"OUTBOUND_ALLOWED_HOSTS": hosts})
    async with assemble(installation.model_copy(update={"outbound": outbound})) as app:
        yield app


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    """It answers with the code of the first message, and so confirms itself."""
    async with serve(
        Webhook(answer=lambda request: str(request.data["data"].get("code", "")).encode())
    ) as server:
        yield server


@pytest.mark.parametrize("language", ["en", "ru"])
async def test_a_refused_address_refers_to_the_operator_on_the_page_and_in_the_api(
    app: App, tenant_id: TenantId, language: str
) -> None:
    async with member_browser(app, tenant_id, language=language) as owner, make_client(app) as client:
        await owner.open("./receivers")
        page = await owner.submit(
            "./receivers", kind="webhook", name="n8n", address="http://n8n:5678/webhook/news"
        )
        headers = {**await create_key_header(app, tenant_id), "Accept-Language": language}
        answer = await client.post(
            "/api/v1/webhooks", headers=headers, json={"name": "n8n", "url": "http://n8n:5678/webhook/news"}
        )
    assert page.status_code == answer.status_code == 422
    sentence = NAMED if language == "en" else "разрешить это может оператор этого сервера"
    assert sentence in page.text
    assert problem_of(answer)[1].endswith(sentence)


async def test_alerts_arrive_at_a_host_that_the_operator_opened_and_stop_when_he_closes_it(
    installation: Settings, tenant_id: TenantId, webhook: Webhook, admin: Admin
) -> None:
    await admin.execute("UPDATE receivers SET paused_at = now()")  # those of other tests
    url, now = f"http://localhost:{webhook.port}/webhook/news", datetime.now(UTC)
    async with open_app(installation, f"localhost:{webhook.port}") as app:
        async with make_client(app) as client:
            answer = await client.post(
                "/api/v1/webhooks",
                headers=await create_key_header(app, tenant_id),
                json={"name": "n8n", "url": url},
            )
        assert answer.status_code == 201
        await send_to_one(app.sender, clock=lambda: datetime.now(UTC))
        stores, (receiver,) = app.tenant(tenant_id), await app.tenant(tenant_id).receivers.all()
        target, options = (
            WatchTarget(kind=WatchKind.WORDS, query="снег"),
            WatchOptions(receivers=(receiver.receiver_id,)),
        )
        await create_watch("Снег", target, options, stores=stores, created_by="anna", now=now, zone=UTC)
        channel_id = await follow(app, tenant_id)
        await post(app, channel_id, 1, "Снег номер 1", now + timedelta(minutes=1))
        while await send_to_one(app.sender, clock=lambda: now + timedelta(minutes=2)):
            pass
        assert len(webhook.requests) == 2  # the code and the alert
        await post(app, channel_id, 2, "Снег номер 2", now + timedelta(minutes=1))
    async with open_app(installation, "") as app:
        while await send_to_one(app.sender, clock=lambda: now + timedelta(minutes=2)):
            pass
        (receiver,) = await app.tenant(tenant_id).receivers.all()
    assert len(webhook.requests) == 2
    assert str(receiver.trouble).endswith(NAMED)


async def test_linked_pages_are_read_from_the_public_web_only_whatever_is_opened(
    installation: Settings, webhook: Webhook
) -> None:
    async with open_app(installation, f"localhost:{webhook.port}") as app:
        reader = app.collaborators["page_reader"]
        assert isinstance(reader, PageReader)
        page = await reader.read(f"http://localhost:{webhook.port}/")
    assert page.status is PageStatus.BLOCKED
    assert webhook.requests == []
