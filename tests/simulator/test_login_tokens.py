"""Logging in by a QR code, through Telethon's own `qr_login`, and as a bot."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from telethon import TelegramClient, errors
from telethon.tl import functions, types

from telegram_simulator.control.operations import Control, NoSuchThing
from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CITY
from tests.simulator.conftest import PHONE, MakeClient

SESAME = "сезам"
OUR_BOT = "77:AAbBcC"


@pytest.fixture
def other_apps(sim: Simulator) -> OtherApps:
    return OtherApps(sim)


@asynccontextmanager
async def waiting(code: Any) -> AsyncIterator[asyncio.Task[Any]]:
    """Telethon wants to be waiting before the code is scanned."""
    task = asyncio.ensure_future(code.wait(10))
    await asyncio.sleep(0.05)
    try:
        yield task
    finally:
        task.cancel()


async def finish(task: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(task, 60)


async def test_a_code_that_is_scanned_logs_its_shower_in(
    other_apps: OtherApps, make_client: MakeClient
) -> None:
    client = await make_client(phone=None)
    code = await client.qr_login()
    assert code.url.startswith("tg://login?token=")
    async with waiting(code) as task:
        other_apps.accept_login(PHONE, code.url)
        assert (await finish(task)).phone == PHONE
    assert (await client.get_me()).phone == PHONE


async def test_another_client_of_the_person_accepts_a_code_once(
    client: TelegramClient, make_client: MakeClient
) -> None:
    fresh = await make_client(phone=None)
    code = await fresh.qr_login()
    async with waiting(code) as task:
        let_in = await client(functions.auth.AcceptLoginTokenRequest(code.token))
        assert isinstance(let_in, types.Authorization)
        with pytest.raises(errors.AuthTokenAlreadyAcceptedError):
            await client(functions.auth.AcceptLoginTokenRequest(code.token))
        assert (await finish(task)).phone == PHONE


async def test_an_account_with_a_password_is_asked_for_it_after_the_scan(
    other_apps: OtherApps, control: Control, make_client: MakeClient
) -> None:
    control.account(PHONE, password=SESAME)
    client = await make_client(phone=None)
    code = await client.qr_login()
    async with waiting(code) as task:
        other_apps.accept_login(PHONE)
        with pytest.raises(errors.SessionPasswordNeededError):
            await finish(task)
    with pytest.raises(errors.PasswordHashInvalidError):
        await client.sign_in(password=SESAME + "!")
    assert (await client.sign_in(password=SESAME)).phone == PHONE


@pytest.mark.parametrize("password", ["", SESAME])
async def test_an_account_of_another_data_centre_is_logged_in_there(
    other_apps: OtherApps, control: Control, sim: Simulator, make_client: MakeClient, password: str
) -> None:
    control.account(PHONE, home_dc=4, password=password)
    client = await make_client(phone=None)
    code = await client.qr_login()
    async with waiting(code) as task:
        other_apps.accept_login(PHONE)
        if password:
            with pytest.raises(errors.SessionPasswordNeededError):
                await finish(task)
            await client.sign_in(password=password)
        else:
            await finish(task)
    assert (await client.get_me()).phone == PHONE
    assert (client.session.dc_id, client.session.port) == (4, sim.ports[4])


async def test_a_code_that_nobody_scanned_in_time_is_of_no_use_and_a_new_one_is(
    other_apps: OtherApps, sim: Simulator, client: TelegramClient, make_client: MakeClient
) -> None:
    fresh = await make_client(phone=None)
    sim.faults.login_token_seconds = 0.0
    code = await fresh.qr_login()
    with pytest.raises(errors.AuthTokenExpiredError):
        await client(functions.auth.AcceptLoginTokenRequest(code.token))
    with pytest.raises(NoSuchThing, match="AUTH_TOKEN_EXPIRED"):
        other_apps.accept_login(PHONE)
    sim.faults.login_token_seconds = 30.0
    await code.recreate()
    async with waiting(code) as task:
        other_apps.accept_login(PHONE)
        assert (await finish(task)).phone == PHONE


async def test_tokens_that_do_not_exist_or_were_not_accepted_open_nothing(
    other_apps: OtherApps, client: TelegramClient, make_client: MakeClient
) -> None:
    fresh = await make_client(phone=None)
    code = await fresh.qr_login()
    with pytest.raises(errors.AuthTokenInvalidxError):
        await client(functions.auth.AcceptLoginTokenRequest(b"nothing"))
    for token in (b"nothing", code.token):
        with pytest.raises(errors.AuthTokenInvalidError):
            await fresh(functions.auth.ImportLoginTokenRequest(token))
    other_apps.accept_login(PHONE)
    await fresh(functions.auth.ImportLoginTokenRequest(code.token))
    with pytest.raises(errors.AuthTokenAlreadyAcceptedError):
        await (await make_client(phone=None))(functions.auth.ImportLoginTokenRequest(code.token))


async def test_who_is_logged_in_there_already_is_not_let_in_again(
    sim: Simulator, client: TelegramClient, make_client: MakeClient
) -> None:
    fresh = await make_client(phone=None)
    code = await fresh.qr_login(ignored_ids=[sim.world.account(PHONE).user_id])
    with pytest.raises(errors.AuthTokenExceptionError):
        await client(functions.auth.AcceptLoginTokenRequest(code.token))


async def test_a_number_of_another_data_centre_gets_its_code_there(
    control: Control, make_client: MakeClient
) -> None:
    control.account("79995550106", home_dc=4)
    client = await make_client(phone=None)
    await client.send_code_request("+79995550106")
    assert (await client.sign_in("+79995550106", "12345")).phone == "79995550106"
    assert client.session.dc_id == 4


async def test_updates_reach_an_account_where_it_lives(
    control: Control, sim: Simulator, make_client: MakeClient
) -> None:
    control.account(PHONE, home_dc=4, joined=[CITY])
    client = await make_client(phone=None)
    code = await client.qr_login()
    async with waiting(code) as task:
        OtherApps(sim).accept_login(PHONE)
        await finish(task)
    updates: asyncio.Queue[Any] = asyncio.Queue()
    client.add_event_handler(updates.put)
    await client.get_me()
    control.post(CITY, "Снег!")
    update = await asyncio.wait_for(updates.get(), 60)
    assert update.message.message == "Снег!"


async def test_a_bot_logs_in_with_its_token_and_may_not_read_history(make_client: MakeClient) -> None:
    client = await make_client(phone=None)
    me = await client.sign_in(bot_token=OUR_BOT)
    assert (me.bot, me.id, me.phone) == (True, 77, None)
    channel = await client.get_entity("gorod_news")
    with pytest.raises(errors.BotMethodInvalidError):
        await client.get_messages(channel, limit=1)
    assert (await client.get_messages(channel, ids=2)).id == 2


async def test_a_token_that_is_none_or_was_replaced_is_refused(make_client: MakeClient) -> None:
    client = await make_client(phone=None)
    await client.sign_in(bot_token=OUR_BOT)
    other = await make_client(phone=None)
    with pytest.raises(errors.AccessTokenInvalidError):
        await other.sign_in(bot_token=OUR_BOT[:1])
    with pytest.raises(errors.AccessTokenExpiredError):
        await other.sign_in(bot_token=OUR_BOT + "2")
