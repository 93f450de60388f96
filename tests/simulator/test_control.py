"""The simulator as people and tests of other processes meet it: the command and its control port."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from telethon import TelegramClient
from telethon.crypto import rsa
from telethon.sessions import StringSession

from telegram_simulator.world.tiny import CITY, CLUB
from tests.simulator.conftest import PHONE
from tests.simulator.serving import Process, tga_sim

LISTENING = "0A"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with tga_sim(tmp_path_factory.mktemp("sim"), "tiny", "--limits", "off") as process:
        yield process


def test_it_says_what_it_is_and_explains_itself(tiny: Process) -> None:
    assert "This is not Telegram" in tiny.output.read_text(encoding="utf-8")
    page = httpx.get(tiny.where["control"]).text
    assert page.startswith("This is not Telegram")
    assert "/truth" in page


def test_it_listens_on_loopback_only(tiny: Process) -> None:
    """By its own sockets: another program may have the same port at another address."""
    own = {str(handle.readlink()) for handle in Path(f"/proc/{tiny.pid}/fd").iterdir() if handle.is_symlink()}
    lines = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()[1:]]
    listening = [fields[1] for fields in lines if f"socket:[{fields[9]}]" in own and fields[3] == LISTENING]
    assert len(listening) == len(tiny.where["ports"]) + 2  # control and web
    assert {address.partition(":")[0] for address in listening} == {"0100007F"}


async def test_a_client_of_another_process_reads_what_the_control_port_posts(tiny: Process) -> None:
    client = TelegramClient(StringSession(tiny.control.session(PHONE, joined=[CITY])), 1, "hash")
    await client.connect()
    try:
        first, second = tiny.control.post(CITY, "из другого процесса", count=2)
        assert second == first + 1
        tiny.control.edit(CITY, first, "исправлено")
        assert (await client.get_messages("gorod_news", ids=first)).message == "исправлено"
        tiny.control.delete(CITY, [second])
        assert await client.get_messages("gorod_news", ids=second) is None
    finally:
        await client.disconnect()
    posts = {post["message_id"]: post for post in tiny.control.truth(CITY)}
    assert posts[second]["deleted_at"]
    assert [version["text"] for version in posts[first]["versions"]] == ["из другого процесса", "исправлено"]
    state = tiny.control.state()
    assert state["calls"][PHONE]["channels.getMessages"] == 2
    assert state["crashes"] == 0
    assert tiny.control.ask("GET", "/trace?limit=5")[-1]["phone"] == PHONE


async def test_a_qr_code_is_accepted_through_the_control_port(tiny: Process) -> None:
    session = StringSession(tiny.control.session("79990000056"))
    session.auth_key = None
    async with httpx.AsyncClient(base_url=tiny.where["control"]) as control:
        rsa.add_key((await control.get("/key")).text, old=False)
    client = TelegramClient(session, 1, "hash")
    await client.connect()
    try:
        code = await client.qr_login()
        waiting = asyncio.create_task(code.wait(10))
        await asyncio.sleep(0.05)
        tiny.control.ask("POST", "/login-tokens/accept", phone=PHONE)
        assert (await waiting).phone == PHONE
    finally:
        await client.disconnect()
    again = send(tiny, "POST", "/login-tokens/accept", {"phone": PHONE, "token": code.url})
    assert again.json() == {"missing": "login token that could be accepted (AUTH_TOKEN_ALREADY_ACCEPTED)"}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/accounts", {"phone": "79990000055", "premium": True, "state": "frozen"}),
        ("POST", "/accounts/79990000055/folders", {"title": "Новости", "channels": [CITY]}),
        ("DELETE", "/accounts/79990000055/folders/2", {}),
        ("POST", "/folders", {"slug": "AbCdEf", "title": "Новости", "channels": [CITY]}),
        ("POST", "/channels", {"title": "Новый", "username": "new_one"}),
        ("PATCH", f"/channels/{CLUB}", {"title": "Клуб", "protected": False}),
        ("POST", f"/channels/{CITY}/albums", {"kinds": ["image/jpeg", "video/mp4"], "caption": "альбом"}),
        ("PATCH", f"/channels/{CITY}/posts/5", {"reactions": [["👍", 3]]}),
        ("PATCH", f"/channels/{CITY}/posts/5", {"views": 9}),
        ("POST", f"/channels/{CITY}/trim", {"keep": 3}),
        ("POST", "/connections/drop", {"phone": "79990000055"}),
        ("POST", "/trouble", {"latency_seconds": 0.0, "clock_skew_seconds": 0.0, "drop_updates": False}),
        ("POST", "/failures", {"method": "help.getNearestDc", "code": 500, "message": "X", "times": 1}),
        ("POST", "/limits", {"method": "messages.search", "rules": [[5, 60, 3]]}),
        ("DELETE", "/limits", {}),
        ("POST", "/files/expire", {}),
        ("POST", "/keys/revoke", {"phone": "79990000055"}),
        ("POST", "/keys/forget", {"phone": "79990000055"}),
        ("POST", "/salt/rotate", {}),
        ("POST", "/churn", {"edits": 2, "deletions": 1}),
        ("GET", "/where", {}),
        ("GET", "/channels", {}),
    ],
)
def test_everything_the_help_lists_can_be_asked(
    tiny: Process, method: str, path: str, body: dict[str, Any]
) -> None:
    assert send(tiny, method, path, body).status_code == 200


def send(process: Process, method: str, path: str, body: dict[str, Any]) -> httpx.Response:
    """The answer as it is, also a refusal."""
    authorization = {"Authorization": f"Bearer {process.where['control_key']}"}
    return httpx.request(method, process.where["control"] + path, json=body, headers=authorization)


def test_mistakes_are_told_in_words(tiny: Process) -> None:
    wrong = send(tiny, "POST", f"/channels/{CITY}/posts", {"txt": "?"})
    assert wrong.status_code == 400
    assert wrong.json()["wrong"][0]["loc"] == ["txt"]
    assert send(tiny, "POST", "/channels/5/posts", {"text": "?"}).json() == {"missing": "channel 5"}
    assert send(tiny, "POST", "/accounts", {"phone": "1", "state": "tired"}).status_code == 404


def test_a_world_that_lives_posts_by_itself(tmp_path: Path) -> None:
    with tga_sim(tmp_path, "load", "--channels", "20000", "--posts", "3", "--live") as process:
        deadline = time.monotonic() + 20
        while process.control.state()["posts_live"] < 3:
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--now", "2099-01-01T00:00:00Z"), "never later than the clock on the wall"),
        (("--now", "soon"), "a moment like"),
    ],
)
def test_a_now_that_makes_no_sense_is_refused(options: tuple[str, ...], complaint: str) -> None:
    refused = subprocess.run(
        [sys.executable, "-m", "telegram_simulator", "tiny", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert complaint in " ".join(refused.stderr.split())


def test_a_port_that_is_taken_is_told_in_words(tiny: Process) -> None:
    port = str(next(iter(tiny.where["ports"].values())))
    refused = subprocess.run(
        [
            sys.executable,
            "-m",
            "telegram_simulator",
            "tiny",
            "--port",
            port,
            "--second-port",
            "0",
            "--control-port",
            "0",
            "--web-port",
            "0",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert refused.returncode == 1
    assert port in refused.stderr
    assert "Traceback" not in refused.stderr


async def test_the_demo_is_read_with_plain_telethon_and_told_by_the_control_port(tmp_path: Path) -> None:
    with tga_sim(tmp_path, "demo", "--limits", "off", "--now", "2026-11-01T12:00:00Z") as process:
        posts = {(post["channel_id"], post["message_id"]): post for post in process.control.truth()}
        client = TelegramClient(StringSession(process.control.session(PHONE)), 1, "hash")
        await client.connect()
        try:
            messages = [message async for message in client.iter_messages("severny_vestnik", limit=250)]
        finally:
            await client.disconnect()
        assert len(messages) == 250
        for message in messages:
            assert message.message == (
                posts[message.peer_id.channel_id, message.id]["text"] if message.action is None else None
            )
        stories = list(process.control.stories())
        assert len(stories) > 1000
        assert all(tuple(post["where"]) in posts for post in stories[-1]["posts"])


def test_a_catch_up_replays_the_history_until_it_meets_now(tmp_path: Path) -> None:
    with tga_sim(tmp_path, "demo", "--catch-up", "300000") as process:
        newest, deadline = 0.0, time.monotonic() + 150
        while newest < time.time() - 7200:
            assert time.monotonic() < deadline
            dates = [post["date"] for post in process.control.truth()]
            assert max(dates) <= time.time()
            assert max(dates) >= newest
            newest = max(dates)
        assert process.control.state()["posts_live"] > 5000


def test_the_demo_at_a_pace_has_the_same_posts_at_its_next_start(tmp_path: Path) -> None:
    options = (
        "demo",
        "--now",
        "2026-11-01T12:00:00Z",
        "--pace",
        "0.1",
        "--journal",
        str(tmp_path / "journal"),
    )

    def posts(process: Process) -> dict[tuple[int, int], tuple[int, str]]:
        return {
            (post["channel_id"], post["message_id"]): (post["date"], post["versions"][0]["text"])
            for post in process.control.truth()
        }

    with tga_sim(tmp_path, *options) as process:
        deadline = time.monotonic() + 60
        while process.control.state()["posts_live"] < 10:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        first = posts(process)
    (tmp_path / "where.json").unlink()
    with tga_sim(tmp_path, *options) as process:
        again = posts(process)
    assert first.items() <= again.items()


def test_the_demo_shows_a_reading_sample() -> None:
    command = [sys.executable, "-m", "telegram_simulator", "demo", "--show", "--now", "2026-11-01T12:00:00Z"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert output.startswith("30 posts")
    assert output.count("═" * 72) == 5
