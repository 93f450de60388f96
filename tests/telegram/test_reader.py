"""Reading channels with the real client."""

import pytest
from pydantic import SecretStr
from telethon.sessions import StringSession

from telegram_assistant import follow
from telegram_assistant.assembly import assemble
from telegram_assistant.domain.account import Lease
from telegram_assistant.domain.coverage import IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.domain.post import Entity, Origin, Post, PostKind
from telegram_assistant.errors import Busy, CannotStart, LeaseLost
from telegram_assistant.settings import TelegramSettings, read_settings
from telegram_assistant.telegram.reader import open_reader
from telegram_assistant.telegram.vault import make_key
from telegram_assistant.telemetry.health import Health
from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.tiny import CITY, TECH
from tests.simulator.conftest import PHONE
from tests.telegram.conftest import reading


async def read_all(account: TelegramSettings, channel_id: int) -> dict[int, Post]:
    found: dict[int, Post] = {}
    async with reading(account) as reader:
        channel = next(one for one in await reader.joined() if one.channel_id == channel_id)
        read = await reader.after(channel, MessageId(0))
        found.update({post.message_id: post for post in read.posts})
    return found


async def test_the_channels_that_the_account_has_joined_are_known(account: TelegramSettings) -> None:
    async with reading(account) as reader:
        assert {one.channel_id: one.title for one in await reader.joined()} == {CITY: "Городские новости", TECH: "Tech Daily"}


async def test_posts_above_an_id_are_read_upward_and_prove_what_is_between(account: TelegramSettings) -> None:
    async with reading(account) as reader:
        channel = next(one for one in await reader.joined() if one.channel_id == CITY)
        read = await reader.after(channel, MessageId(35))
        nothing = await reader.after(channel, MessageId(40))
    assert [post.message_id for post in read.posts] == [36, 37, 38, 39, 40]
    assert (read.proven, read.more) == (IdRange(MessageId(36), MessageId(40)), False)
    assert (nothing.posts, nothing.proven, nothing.more) == ((), None, False)


async def test_messages_become_posts(account: TelegramSettings) -> None:
    posts = await read_all(account, CITY)
    assert len(posts) == 40
    plain = posts[2]
    assert plain.kind is PostKind.TEXT
    assert plain.entities == (Entity("bold", 0, 5), Entity("hashtag", 6, 4))
    assert plain.posted_at.utcoffset() is not None
    assert posts[1].kind is PostKind.SERVICE
    assert (posts[30].kind, posts[30].reply_to) == (PostKind.SERVICE, 12)
    assert posts[15].forwarded_from == Origin(ChannelId(TECH), MessageId(5))
    assert posts[16].reply_to == 15
    assert {posts[number].grouped_id for number in (20, 21, 22)} == {777}
    kinds = {posts[number].kind for number in range(8, 20)}
    assert {PostKind.PHOTO, PostKind.DOCUMENT, PostKind.POLL, PostKind.VIDEO, PostKind.UNREADABLE} <= kinds


async def test_a_reaction_is_no_edit_and_an_edit_is_one(account: TelegramSettings, control: Control) -> None:
    before = (await read_all(account, CITY))[40]
    control.react(CITY, 40, [("👍", 500)])
    reacted = (await read_all(account, CITY))[40]
    control.edit(CITY, 40, "Исправлено.")
    edited = (await read_all(account, CITY))[40]
    assert (reacted.content_hash, reacted.edited_at) == (before.content_hash, None)
    assert edited.content_hash != before.content_hash
    assert edited.edited_at is not None


async def test_a_wait_that_telegram_asks_for_is_busy_for_so_long(account: TelegramSettings, control: Control) -> None:
    async with reading(account) as reader:
        channel = next(one for one in await reader.joined() if one.channel_id == CITY)
        control.fail("messages.getHistory", code=420, message="FLOOD_WAIT_17")
        with pytest.raises(Busy, match="wait 17 s") as told:
            await reader.after(channel, MessageId(0))
    assert 17 <= told.value.retry_after_seconds <= 20


@pytest.mark.turns("TELEGRAM_SESSION_STRING")
@pytest.mark.parametrize(("session", "why"), [("1nonsense", "none of Telethon"), ("revoked", "Log in again")])
async def test_a_session_of_no_use_is_told_in_words(account: TelegramSettings, control: Control, session: str, why: str) -> None:
    if session == "revoked":
        control.revoke_keys(PHONE)
        session = account.session_string.get_secret_value()
    with pytest.raises(CannotStart, match=why):
        async with reading(account, session_string=SecretStr(session)):
            pass


@pytest.mark.turns("TELEGRAM_API_ID")
@pytest.mark.turns("TELEGRAM_API_HASH")
@pytest.mark.parametrize("missing", [{"api_id": 0}, {"api_hash": SecretStr("")}])
async def test_without_an_application_there_is_no_login(account: TelegramSettings, missing: dict[str, object]) -> None:
    with pytest.raises(CannotStart, match="TELEGRAM_API_ID and TELEGRAM_API_HASH"):
        async with reading(account, **missing):
            pass


@pytest.mark.turns("TELEGRAM_DC_ADDR")
@pytest.mark.turns("TELEGRAM_DC_PORT")
async def test_the_address_of_a_simulator_wins_over_the_sessions_own(account: TelegramSettings, sim: Simulator) -> None:
    session = StringSession(account.session_string.get_secret_value())
    session.set_dc(session.dc_id, "127.0.0.2", 9)
    lost = account.model_copy(update={"session_string": SecretStr(session.save())})
    with pytest.raises(Busy):
        async with reading(lost):
            pass
    async with reading(lost, dc_addr=sim.host, dc_port=sim.ports[session.dc_id]) as reader:
        assert len(await reader.joined()) == 2


async def test_without_an_account_the_ingest_role_says_what_to_set(database: dict[str, str]) -> None:
    health = Health(probes={})
    async with assemble(read_settings(database)) as app:
        assert follow.loops(app, health) == ()
    assert "TELEGRAM_SESSION_STRING" in str(health.parts()["accounts"]["detail"])


@pytest.mark.turns("SESSION_ENCRYPTION_KEY")
async def test_a_session_without_a_key_to_keep_it_under_refuses_to_start(account: TelegramSettings, database: dict[str, str]) -> None:
    given = {**database, "TELEGRAM_SESSION_STRING": account.session_string.get_secret_value()}
    async with assemble(read_settings(given)) as app:
        with pytest.raises(CannotStart, match="tga accounts key"):
            follow.loops(app, Health(probes={}))
    async with assemble(read_settings({**given, "SESSION_ENCRYPTION_KEY": make_key()})) as app:
        assert [loop.name for loop in follow.loops(app, Health(probes={}))] == ["accounts"]


async def test_nothing_is_asked_once_the_lease_is_over(account: TelegramSettings, sim: Simulator) -> None:
    clock = 1000.0
    lease = Lease(begun=clock, now=lambda: clock)
    async with open_reader(account, account.session_string.get_secret_value(), lease) as reader:
        channel = (await reader.joined())[0]
        clock += 45.0
        asked = len(sim.counters.trace)
        with pytest.raises(LeaseLost):
            await reader.after(channel, MessageId(0))
        assert len(sim.counters.trace) == asked
        lease.extend(clock)
        assert (await reader.after(channel, MessageId(0))).posts


def test_a_session_is_never_shown(account: TelegramSettings) -> None:
    assert account.session_string.get_secret_value() not in repr(account)
