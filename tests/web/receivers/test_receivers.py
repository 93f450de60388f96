"""Receivers as their owners and the readers of mail addresses use them: codes, links of mails,
one-click unsubscribing, secrets.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.receivers.delivery import AlertReceiver
from telegram_assistant.features.receivers.receiver_links import (
    LinkedReceiver,
    code_of,
    confirm_token,
    unsubscribe_token,
)
from telegram_assistant.sealing import Sealer
from telegram_assistant.settings import MailSettings, Settings
from testkit.web_clients import Browser, member_browser, open_browser


async def only_receiver(app: App, tenant_id: TenantId) -> AlertReceiver:
    (receiver,) = await app.tenant(tenant_id).receivers.all()
    return receiver


async def add_mail_address(app: App, owner: Browser, tenant_id: TenantId) -> AlertReceiver:
    await owner.open("./receivers")
    await owner.submit("./receivers", kind="email", name="Anna", address="anna@desk.example")
    return await only_receiver(app, tenant_id)


async def test_an_owner_types_the_code_of_the_first_message(
    app: App, owner: Browser, tenant_id: TenantId
) -> None:
    await owner.open("./receivers")
    page = (
        await owner.submit("./receivers", kind="webhook", name="Desk", address="https://desk.example/alerts")
    ).text
    assert "A code is being sent to it" in page
    receiver = await only_receiver(app, tenant_id)
    page = (await owner.open("./receivers")).text
    assert "not confirmed" in page
    wrong = await owner.submit(f"./receivers/{receiver.receiver_id}/confirm", code="WRONG")
    assert "This is not the code" in wrong.text
    code = code_of(receiver.receiver_id, receiver.code_number, sealer=app.sealer)
    answer = await owner.submit(f"./receivers/{receiver.receiver_id}/confirm", code=code)
    assert answer.status_code == 303
    assert "not confirmed" not in (await owner.open("./receivers")).text


async def test_a_new_secret_is_shown_once_and_the_old_one_stays_valid_for_a_day(
    app: App, owner: Browser, tenant_id: TenantId
) -> None:
    await owner.open("./receivers")
    await owner.submit("./receivers", kind="webhook", name="Desk", address="https://desk.example/alerts")
    receiver = await only_receiver(app, tenant_id)
    await owner.open("./receivers")
    page = (await owner.submit(f"./receivers/{receiver.receiver_id}/secret")).text
    (secret,) = re.findall(r"whsec_[A-Za-z0-9+/=]+", page)
    page = (await owner.open("./receivers")).text
    assert secret not in page
    assert "The old secret also works" in page


async def test_a_link_of_a_mail_confirms_only_when_the_button_is_pressed(
    app: App, owner: Browser, browser: Browser, tenant_id: TenantId
) -> None:
    receiver = await add_mail_address(app, owner, tenant_id)
    linked = LinkedReceiver(tenant_id, receiver.receiver_id, receiver.code_number)
    path = f"/confirm/{confirm_token(linked, sealer=app.sealer, now=datetime.now(UTC))}"
    assert "Do you want these e-mails?" in (await browser.open(path)).text
    assert (await only_receiver(app, tenant_id)).confirmed_at is None
    assert "Confirmed" in (await browser.submit(path)).text
    assert (await only_receiver(app, tenant_id)).confirmed_at is not None


async def test_a_mail_program_unsubscribes_with_one_click_and_the_reader_comes_back(
    app: App, owner: Browser, browser: Browser, tenant_id: TenantId
) -> None:
    receiver = await add_mail_address(app, owner, tenant_id)
    linked = LinkedReceiver(tenant_id, receiver.receiver_id, receiver.code_number)
    await app.tenant(tenant_id).receivers.confirm(receiver.receiver_id, receiver.code_number)
    token = unsubscribe_token(linked, sealer=app.sealer)
    async with open_browser(app) as program:
        answer = await program.client.post(f"/unsubscribe/{token}", data={"List-Unsubscribe": "One-Click"})
    assert answer.status_code == 200
    state = await only_receiver(app, tenant_id)
    assert (state.confirmed_at, state.paused_at is not None) == (None, True)
    assert "has unsubscribed" in (await owner.open("./receivers")).text
    refused = await owner.submit(f"./receivers/{receiver.receiver_id}/code")
    assert refused.status_code == 422
    assert "Unsubscribe?" in (await browser.open(f"/unsubscribe/{token}")).text
    await browser.submit(f"/unsubscribe/{token}")
    assert "Confirmed" in (await browser.submit(f"/subscribe/{token}")).text
    assert (await only_receiver(app, tenant_id)).confirmed_at is not None


@pytest.mark.parametrize("page", ["confirm", "unsubscribe", "subscribe"])
async def test_links_that_nobody_made_open_nothing(
    app: App, browser: Browser, tenant_id: TenantId, page: str
) -> None:
    linked = LinkedReceiver(tenant_id, (await app.system.tenants.ensure("A")).public_id, 1)
    foreign = Sealer("the secret of another installation")
    tokens = [
        "x",
        "%00",
        confirm_token(linked, sealer=foreign, now=datetime.now(UTC)),
        unsubscribe_token(linked, sealer=foreign),
        unsubscribe_token(linked, sealer=app.sealer)
        if page == "confirm"
        else confirm_token(linked, sealer=app.sealer, now=datetime.now(UTC)),
    ]
    for token in tokens:
        answer = await browser.client.post(f"/{page}/{token}")
        assert answer.status_code in {403, 404, 422}
        if page != "subscribe":
            assert (await browser.client.get(f"/{page}/{token}")).status_code in {404, 422}


async def test_a_link_of_one_tenant_changes_nothing_of_another(
    app: App, tenant_id: TenantId, owner: Browser
) -> None:
    receiver = await add_mail_address(app, owner, tenant_id)
    other = (await app.system.tenants.ensure("another tenant")).tenant_id
    forged = unsubscribe_token(LinkedReceiver(other, receiver.receiver_id), sealer=app.sealer)
    async with open_browser(app) as program:
        assert (await program.client.post(f"/unsubscribe/{forged}")).status_code == 404
    assert (await only_receiver(app, tenant_id)).paused_at is None


async def test_the_page_says_when_the_hour_is_used_up_and_when_secret_key_is_missing(
    app: App, tenant_id: TenantId, installation: Settings
) -> None:
    settings = installation.model_copy(
        update={"delivery": installation.delivery.model_copy(update={"per_hour": 0})}
    )
    settings = settings.model_copy(update={"mail": MailSettings(host="127.0.0.1")})
    changed = replace(app, settings=settings, sealer=Sealer(""))
    async with member_browser(changed, tenant_id) as owner:
        page = (await owner.open("./receivers")).text
        assert "has reached its hourly limit" in page
        assert "Webhooks and e-mail do not work on this server yet" in page
        refused = await owner.submit("./receivers", kind="email", name="Anna", address="anna@desk.example")
        assert refused.status_code == 422
        assert "server cannot store secrets yet" in refused.text
