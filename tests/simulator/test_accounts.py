"""Logging in by phone and code, logging out, and what happens to accounts in trouble."""

import pytest
from telethon import TelegramClient, errors
from telethon.tl import functions, types

from telegram_simulator.control.operations import Control
from telegram_simulator.control.seeing import state
from telegram_simulator.simulator import Simulator
from tests.simulator.conftest import PHONE, MakeClient, session_for

SESAME = "сезам"


async def test_a_wrong_code_is_refused_and_the_right_one_still_works(make_client: MakeClient) -> None:
    client = await make_client(phone=None)
    await client.send_code_request("+79995550102")
    with pytest.raises(errors.PhoneCodeInvalidError):
        await client.sign_in("+79995550102", "11111")
    assert (await client.sign_in("+79995550102", "12345")).first_name == "Reader 0102"


async def test_a_code_of_another_request_has_expired(make_client: MakeClient) -> None:
    client = await make_client(phone=None)
    await client.send_code_request("+79995550103")
    with pytest.raises(errors.PhoneCodeExpiredError):
        await client.sign_in("+79995550103", "12345", phone_code_hash="older")


async def test_an_account_with_a_password_is_asked_for_it_after_the_code(
    control: Control, make_client: MakeClient
) -> None:
    control.account("79995550105", password=SESAME)
    client = await make_client(phone=None)
    await client.send_code_request("+79995550105")
    with pytest.raises(errors.SessionPasswordNeededError):
        await client.sign_in("+79995550105", "12345")
    assert await client.get_me() is None
    with pytest.raises(errors.PasswordHashInvalidError):
        await client.sign_in(password=SESAME + "!")
    assert (await client.sign_in(password=SESAME)).first_name == "Reader 0105"
    assert (await client.get_me()).phone == "79995550105"


async def test_nonsense_and_banned_numbers_get_no_code(control: Control, make_client: MakeClient) -> None:
    client = await make_client(phone=None)
    with pytest.raises(errors.PhoneNumberInvalidError):
        await client(functions.auth.SendCodeRequest("nobody", 1, "hash", types.CodeSettings()))
    control.account("79995550104", state="banned")
    with pytest.raises(errors.PhoneNumberBannedError):
        await client.send_code_request("+79995550104")


async def test_logging_out_ends_the_login(sim: Simulator, make_client: MakeClient) -> None:
    client = await make_client()
    record = next(sim.keys.records_of(PHONE))
    await client.log_out()
    assert record.phone is None


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        ("banned", errors.UserDeactivatedBanError),
        ("revoked", errors.SessionRevokedError),
        ("unregistered", errors.AuthKeyUnregisteredError),
    ],
)
async def test_an_account_in_trouble_is_told_so_at_every_call(
    control: Control, client: TelegramClient, trouble: str, error: type[Exception]
) -> None:
    await client.get_me()
    control.account(PHONE, state=trouble)
    with pytest.raises(error):
        await client.get_messages("gorod_news", limit=1)


async def test_a_frozen_account_may_look_at_itself_only(control: Control, client: TelegramClient) -> None:
    control.account(PHONE, state="frozen")
    assert (await client.get_me()).phone == PHONE
    with pytest.raises(errors.RPCError, match="frozen"):
        await client.get_messages("gorod_news", limit=1)
    control.account(PHONE, state="ok")
    assert len(await client.get_messages("gorod_news", limit=1)) == 1


async def test_a_revoked_key_is_dead_and_another_login_lives(
    control: Control, client: TelegramClient, make_client: MakeClient
) -> None:
    assert control.revoke_keys(PHONE) == 1
    with pytest.raises(errors.SessionRevokedError):
        await client.get_messages("gorod_news", limit=1)
    other = await make_client()
    assert (await other.get_me()).phone == PHONE


async def test_t16_one_key_from_two_machines_kills_the_key(sim: Simulator, make_client: MakeClient) -> None:
    session = session_for(sim)
    first = await make_client(session=session)
    await first.get_me()
    twin = session_for(sim, phone=None)
    twin.auth_key = session.auth_key
    with pytest.raises(errors.AuthKeyDuplicatedError):
        second = await make_client(session=twin, local_addr="127.0.0.2")
        await second.get_messages("gorod_news", limit=1)
    with pytest.raises(errors.AuthKeyDuplicatedError):
        await first.get_messages("gorod_news", limit=1)
    assert state(sim)["keys_used_twice"] == [PHONE]


async def test_t16_two_connections_from_one_machine_are_counted(
    sim: Simulator, make_client: MakeClient
) -> None:
    session = session_for(sim)
    first = await make_client(session=session)
    await first.get_me()
    assert state(sim)["double_use"] == 0
    twin = session_for(sim, phone=None)
    twin.auth_key = session.auth_key
    second = await make_client(session=twin)
    await second.get_me()
    assert state(sim)["double_use"] == 0  # the newer connection took over
    await first.get_me()
    assert state(sim)["double_use"] >= 1
    assert state(sim)["keys_used_twice"] == [PHONE]
