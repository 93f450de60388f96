"""A second, independent client: what Telethon and the simulator might both get wrong, Kurigram would not.

It runs in a process of its own: importing it warns, and warnings are errors here.
"""

import asyncio
import sys
from pathlib import Path

import pytest

from telegram_simulator.control.other_apps import OtherApps
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CITY, TECH
from telegram_simulator.world.world import HOME_DC
from tests.simulator.conftest import PHONE

PROGRAM = """
import asyncio, sys
from pathlib import Path
from pyrogram import Client
from pyrogram.raw import functions
from pyrogram.storage import SQLiteStorage

async def main(folder, host, port, dc_id, key, user_id, count):
    storage = SQLiteStorage("second", Path(folder))
    await storage.open()
    await storage.dc_id(int(dc_id))
    await storage.server_address(host)
    await storage.port(int(port))
    await storage.api_id(1)
    await storage.test_mode(False)
    await storage.auth_key(bytes.fromhex(key))
    await storage.user_id(int(user_id))
    await storage.is_bot(False)
    await storage.date(0)
    await storage.save()
    await storage.close()
    client = Client(
        "second", api_id=1, api_hash="hash", workdir=Path(folder),
        no_updates=True, fetch_replies=False, fetch_topics=False,
    )
    await client.connect()
    ids = [message.id async for message in client.get_chat_history("load_1", limit=int(count))]
    print("contiguous" if ids == list(range(5000, 5000 - int(count), -1)) else ids[:10])
    answer = await client.invoke(functions.messages.GetDialogFilters())
    print([one.title.text for one in answer.filters[1:]])
    shown = await client.invoke(functions.chatlists.CheckChatlistInvite(slug="AbCdEf"))
    print([one.title for one in shown.chats])
    await client.disconnect()

asyncio.run(main(*sys.argv[1:]))
"""


async def test_kurigram_connects_with_a_stored_key_pages_through_posts_and_sees_folders(
    sim: Simulator, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """At full size through all five thousand posts of a channel."""
    count = 5000 if request.config.getoption("full") else 500
    people = OtherApps(sim)
    people.put_into_folder(PHONE, "Новости", [CITY])
    people.share_folder("AbCdEf", "Новости", [TECH])
    login = (str(HOME_DC), sim.new_login(PHONE).hex(), str(sim.world.account(PHONE).user_id))
    arguments = (str(tmp_path), sim.host, str(sim.ports[HOME_DC]), *login, str(count))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=tmp_path,
    )
    out, complaints = await asyncio.wait_for(process.communicate(), 120)
    assert out.decode().splitlines()[-3:] == ["contiguous", "['Новости']", "['Tech Daily']"], (
        complaints.decode()[-2000:]
    )
