"""The Telegram application and proxy that the operator enters: sealed for ingest, opened there, and resealed
when the key changes.
"""

import pytest

from telegram_assistant.domain.accounts.setup import Application, Proxy, TelegramSecret
from telegram_assistant.errors import CannotStart, Conflicting, Forbidden, Rejected
from telegram_assistant.features.accounts.telegram_setup import enter_application, enter_proxy
from telegram_assistant.ingest.telegram_setup import TelegramConnectionSettings
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.stores.postgres.accounts.telegram_setup import OwnTelegramSetup
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import IngestStores, SystemStores, tenant_stores
from telegram_assistant.telegram.vault import make_key, vault_of
from testkit.factories import make_tenant
from tests.conftest import Admin

HASH = "0123456789abcdef0123456789abcdef"


@pytest.fixture
async def setup(system: SystemStores, pool: Pool, admin: Admin) -> OwnTelegramSetup:
    """The setup as the operator's tenant sees it."""
    for table in ("telegram_secrets", "ingest_keys"):
        await admin.execute(f"DELETE FROM {table}")
    tenant = await system.tenants.ensure("default", is_operator=True)
    return tenant_stores(pool, tenant.tenant_id).telegram_setup


def connection(ingest: IngestStores, key: str, **environment: object) -> TelegramConnectionSettings:
    return TelegramConnectionSettings(
        TelegramSettings.model_validate(environment), secrets=ingest.telegram_secrets, vault=vault_of(key)
    )


async def test_what_is_entered_is_used_for_the_next_connection(
    setup: OwnTelegramSetup, ingest: IngestStores, admin: Admin
) -> None:
    own = connection(ingest, make_key())
    with pytest.raises(Conflicting):
        await enter_application(
            Application(12345, HASH), is_at_simulator=False, setup=setup, entered_by="Ева"
        )
    await own.report()
    await enter_application(
        Application(12345, HASH.upper()), is_at_simulator=False, setup=setup, entered_by="Ева"
    )
    await enter_proxy(Proxy("http", "proxy.example", 8080, "eva", "сезам"), setup=setup, entered_by="Ева")
    current = await own.current()
    assert (current.api_id, current.api_hash.get_secret_value()) == (12345, HASH)
    assert (current.proxy_addr, current.proxy_port, current.proxy_password.get_secret_value()) == (
        "proxy.example",
        8080,
        "сезам",
    )
    telegram_setup = await setup.get()
    assert (
        telegram_setup.has_application,
        telegram_setup.entered[TelegramSecret.APPLICATION].visible_part,
        telegram_setup.entered[TelegramSecret.APPLICATION].entered_by,
    ) == (
        True,
        "12345",
        "Ева",
    )
    rows = str([row["t"] for row in await admin.fetch("SELECT t::text AS t FROM telegram_secrets t")])
    assert HASH not in rows
    assert HASH.encode().hex() not in rows


async def test_the_environment_comes_first(setup: OwnTelegramSetup, ingest: IngestStores) -> None:
    key = make_key()
    await connection(ingest, key).report()
    await enter_application(Application(12345, HASH), is_at_simulator=False, setup=setup, entered_by="Ева")
    own = connection(ingest, key, api_id=7, api_hash="of the environment")
    await own.report()
    assert (await own.current()).api_id == 7
    assert (await setup.get()).from_environment == {TelegramSecret.APPLICATION}


async def test_a_new_key_reseals_what_the_old_one_opens(
    setup: OwnTelegramSetup, ingest: IngestStores
) -> None:
    old, new = make_key(), make_key()
    await connection(ingest, old).report()
    await enter_application(Application(12345, HASH), is_at_simulator=False, setup=setup, entered_by="Ева")
    with pytest.raises(CannotStart):
        await connection(ingest, new).current()
    assert (await connection(ingest, f"{new},{old}").current()).api_id == 12345
    assert (await connection(ingest, new).current()).api_id == 12345


async def test_only_the_operator_enters_anything(
    setup: OwnTelegramSetup, ingest: IngestStores, system: SystemStores, pool: Pool
) -> None:
    await connection(ingest, make_key()).report()
    stranger = tenant_stores(pool, await make_tenant(system)).telegram_setup
    with pytest.raises(Forbidden):
        await enter_application(
            Application(12345, HASH), is_at_simulator=False, setup=stranger, entered_by="Адам"
        )
    assert (await setup.get()).entered == {}


@pytest.mark.parametrize(
    ("api_id", "api_hash"),
    [(0, HASH), (-1, HASH), (99999999999, HASH), (1, "short"), (1, "g" * 32)],
)
async def test_what_is_no_application_is_refused(
    setup: OwnTelegramSetup, ingest: IngestStores, api_id: int, api_hash: str
) -> None:
    await connection(ingest, make_key()).report()
    with pytest.raises(Rejected):
        await enter_application(
            Application(api_id, api_hash), is_at_simulator=False, setup=setup, entered_by="Ева"
        )


async def test_a_simulator_takes_any_hash_as_it_is_written(
    setup: OwnTelegramSetup, ingest: IngestStores
) -> None:
    own = connection(ingest, make_key())
    await own.report()
    await enter_application(Application(1, "Any"), is_at_simulator=True, setup=setup, entered_by="Ева")
    current = await own.current()
    assert (current.api_id, current.api_hash.get_secret_value()) == (1, "Any")
    for api_hash in ("", "x" * 201):
        with pytest.raises(Rejected, match="a simulator accepts any other"):
            await enter_application(
                Application(1, api_hash), is_at_simulator=True, setup=setup, entered_by="Ева"
            )
