"""The connection settings of an account client: application, address, proxy and session."""

import time
from collections.abc import AsyncIterator
from functools import partial

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from pydantic import SecretStr
from telethon.sessions import StringSession
from telethon.tl import functions, types

from telegram_assistant import ingest_role
from telegram_assistant.assembly import assemble
from telegram_assistant.domain.accounts.account import AccountRefused, AccountState
from telegram_assistant.domain.ids import AccountId
from telegram_assistant.errors import Busy, CannotStart, SettingsError
from telegram_assistant.settings import ProxyType, TelegramSettings, read_group, read_settings
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telegram.login import open_login
from telegram_assistant.telegram.vault import make_key
from telegram_assistant.telemetry.health import Health
from telegram_simulator.mtproto.crypto import load_or_make_key
from telegram_simulator.simulator import Options, Simulator, running
from telegram_simulator.world.world import HOME_DC, World
from testkit.socks_proxy import Proxy, proxy_server
from testkit.waits import Skipping
from tests.telegram.conftest import Lines

RIGHT = "r1ght"
ME = functions.users.GetUsersRequest([types.InputUserSelf()])


@pytest.mark.turns("TELEGRAM_SESSION_STRING")
async def test_a_session_of_no_use_is_told_in_words(lines: Lines) -> None:
    with pytest.raises(AccountRefused, match="not in Telethon's format") as refused:
        async with lines(session_string=SecretStr("1nonsense")):
            pass
    assert refused.value.state is AccountState.LOGGED_OUT


@pytest.mark.turns("TELEGRAM_API_ID")
@pytest.mark.turns("TELEGRAM_API_HASH")
@pytest.mark.parametrize("missing", [{"api_id": 0}, {"api_hash": SecretStr("")}])
async def test_without_an_application_there_is_no_line(lines: Lines, missing: dict[str, object]) -> None:
    with pytest.raises(CannotStart, match="TELEGRAM_API_ID and TELEGRAM_API_HASH"):
        async with lines(**missing):
            pass


@pytest.fixture
def lost_session(account: TelegramSettings) -> SecretStr:
    """A session that points where nobody is."""
    session = StringSession(account.session_string.get_secret_value())
    session.set_dc(session.dc_id, "127.0.0.2", 9)
    return SecretStr(session.save())


@pytest.mark.turns("TELEGRAM_DC_ADDR")
@pytest.mark.turns("TELEGRAM_DC_PORT")
async def test_the_address_of_a_simulator_wins_over_the_sessions_own(
    lines: Lines, lost_session: SecretStr, sim: Simulator
) -> None:
    async with lines(session_string=lost_session) as line:
        with pytest.raises(Busy):
            await line.ask(ME)
    async with lines(session_string=lost_session, dc_addr=sim.host, dc_port=sim.ports[HOME_DC]) as line:
        assert (await line.ask(ME))[0].is_self


@pytest.mark.parametrize("address", ["localhost", "::1", "127.0.0"])
def test_only_an_address_that_telethon_keeps_is_accepted(address: str) -> None:
    with pytest.raises(SettingsError, match="TELEGRAM_DC_ADDR is wrong: not an IPv4 address"):
        read_group(TelegramSettings, {"TELEGRAM_DC_ADDR": address})


async def test_a_line_that_would_go_to_telegram_itself_is_not_connected(
    lines: Lines, lost_session: SecretStr
) -> None:
    """Telethon takes Telegram's own address where it is given one of IPv6."""
    async with lines(session_string=lost_session, dc_addr="::1") as line:
        with pytest.raises(CannotStart, match="TELEGRAM_DC_ADDR"):
            await line.ask(ME)


@pytest.fixture
async def stranger(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Simulator]:
    """A simulator whose key nobody knows yet."""
    file = tmp_path_factory.mktemp("key") / "key.pem"
    made = generate_private_key(public_exponent=65537, key_size=2048)
    file.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))
    world = World(seed=1, clock=time.time)
    async with running(world, load_or_make_key(file), Options(limits={})) as simulator:
        yield simulator


@pytest.mark.turns("TELEGRAM_DC_PUBLIC_KEY")
async def test_the_key_of_a_simulator_lets_one_log_in_there(
    stranger: Simulator,
    account: TelegramSettings,
    account_id: AccountId,
    system: SystemStores,
    skipping: Skipping,
) -> None:
    at = account.model_copy(update={"dc_addr": stranger.host, "dc_port": stranger.ports[HOME_DC]})
    opened = partial(open_login, account_id=account_id, limits=system.limits, clock=skipping.clock)
    async with opened(at) as login:
        with pytest.raises(Busy):
            await login.send_code("+79995550111")
    async with opened(at.model_copy(update={"dc_public_key": stranger.rsa_key.public_pem})) as login:
        await login.send_code("+79995550111")
        assert await login.submit_code("12345") is not None
    with pytest.raises(CannotStart, match="TELEGRAM_DC_PUBLIC_KEY is not a valid key"):
        async with opened(at.model_copy(update={"dc_public_key": "nonsense"})):
            pass


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    async with proxy_server() as running_proxy:
        yield running_proxy


@pytest.mark.turns("TELEGRAM_PROXY_ADDR")
@pytest.mark.turns("TELEGRAM_PROXY_PORT")
async def test_everything_goes_through_the_proxy(lines: Lines, sim: Simulator, proxy: Proxy) -> None:
    async with lines(proxy_addr="127.0.0.1", proxy_port=proxy.port) as line:
        assert (await line.ask(ME))[0].is_self
        assert proxy.connected_to == [(sim.host, sim.ports[HOME_DC])]
        assert proxy.bytes_carried > 1000
        assert len(sim.connections) == 1
    assert proxy.greetings == ["socks5"]


@pytest.mark.turns("TELEGRAM_PROXY_USERNAME")
@pytest.mark.turns("TELEGRAM_PROXY_PASSWORD")
@pytest.mark.parametrize(("password", "let_in"), [(RIGHT, True), ("wr0ng", False), ("", False)])
async def test_a_proxy_may_ask_for_a_password(
    lines: Lines, sim: Simulator, password: str, let_in: bool
) -> None:
    async with proxy_server(user="reader", password=RIGHT) as guarded:
        options = {
            "proxy_addr": "127.0.0.1",
            "proxy_port": guarded.port,
            "proxy_username": "reader",
            "proxy_password": SecretStr(password),
        }
        async with lines(**options) as line:
            if let_in:
                assert (await line.ask(ME))[0].is_self
            else:
                with pytest.raises(Busy):
                    await line.ask(ME)
                assert not sim.connections  # it did not go around


@pytest.mark.turns("TELEGRAM_PROXY_TYPE")
@pytest.mark.parametrize("kind", ProxyType)
async def test_a_proxy_is_spoken_to_in_its_own_way(lines: Lines, proxy: Proxy, kind: ProxyType) -> None:
    async with lines(proxy_addr="127.0.0.1", proxy_port=proxy.port, proxy_type=kind) as line:
        assert (await line.ask(ME))[0].is_self
    assert proxy.greetings == [kind.value]


async def test_a_proxy_that_is_away_is_no_reason_to_go_without(lines: Lines, sim: Simulator) -> None:
    async with lines(proxy_addr="127.0.0.1", proxy_port=9) as line:
        with pytest.raises(Busy):
            await line.ask(ME)
    assert sim.counters.connections == 0


async def test_without_an_account_the_ingest_role_says_what_to_set(database: dict[str, str]) -> None:
    health = Health(probes={})
    async with assemble(read_settings(database), with_accounts=True) as app:
        assert ingest_role.loops(app, health) == ()
    assert "tga accounts login" in str(health.parts()["accounts"]["detail"])


@pytest.mark.turns("SESSION_ENCRYPTION_KEY")
async def test_a_session_without_a_key_to_keep_it_under_refuses_to_start(
    account: TelegramSettings, database: dict[str, str]
) -> None:
    given = {**database, "TELEGRAM_SESSION_STRING": account.session_string.get_secret_value()}
    async with assemble(read_settings(given), with_accounts=True) as app:
        with pytest.raises(CannotStart, match="tga accounts key"):
            ingest_role.loops(app, Health(probes={}))
    async with assemble(
        read_settings({**given, "SESSION_ENCRYPTION_KEY": make_key()}), with_accounts=True
    ) as app:
        names = [loop.name for loop in ingest_role.loops(app, Health(probes={}))]
    assert names == ["accounts", "logins", "telegram setup", "scheduler", "albums", "recounting"]


def test_secrets_are_never_shown(account: TelegramSettings) -> None:
    printed = repr(account.model_copy(update={"proxy_password": SecretStr("p4ss")}))
    assert account.session_string.get_secret_value() not in printed
    assert "p4ss" not in printed
