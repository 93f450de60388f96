"""A login, and nothing else, is in a session."""

from pydantic import SecretStr
from telethon.tl import types

from telegram_assistant.settings import TelegramSettings
from telegram_assistant.telegram.client import make_client
from telegram_assistant.telegram.session import session_of
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from tests.simulator.conftest import PHONE


async def test_a_session_made_by_connecting_can_be_used_again(sim: Simulator) -> None:
    session = session_of("")
    session.set_dc(2, sim.host, sim.ports[2])
    client = make_client(session, TelegramSettings(api_id=1, api_hash=SecretStr("any")))
    await client.connect()
    await client.disconnect()
    assert session_of(session.login).auth_key == session.auth_key


def test_what_telegram_shows_of_people_and_channels_is_not_kept(control: Control) -> None:
    session = session_of(control.session_string(PHONE))
    session.process_entities(types.contacts.ResolvedPeer(None, [types.InputPeerUser(7, 70)], []))
    assert session.get_entity_rows_by_id(7) is None
