"""The tenant of the demo: accounts at the simulator, the folders that it follows, a key, and the way in."""

import asyncio
import http.client
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from telegram_assistant.assembly import App
from telegram_assistant.demo.servers import LOOPBACK
from telegram_assistant.demo.simulator import SimulatedTelegram
from telegram_assistant.domain.accounts.account import AccountState
from telegram_assistant.domain.channels.channel_requests import RequestKind
from telegram_assistant.domain.ids import UserId
from telegram_assistant.domain.tenants.access import SCOPES_OF, KeyScope, MemberRole
from telegram_assistant.features.channels.folders import follow_folder
from telegram_assistant.features.people.people import make_login_link
from telegram_assistant.features.tenants.keys import KeyMaker, list_keys, make_key, revoke_key
from telegram_assistant.ingest.accounts import FIRST_TENANT, add_account
from telegram_assistant.stores.postgres.channels.channels import NOT_KNOWN_YET, Subscription
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.tenants.tenants import Tenant
from telegram_assistant.stores.redis.rate_limits import RateLimits
from telegram_assistant.telegram.vault import vault_of

HISTORY_DAYS = 14
KEY_NAME = "tga demo"
OWNER_NAME = "demo"
LOOK_SECONDS = 0.3
ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class DemoAccount:
    """An account at the simulator with one folder. Three of them read three times as fast as one."""

    phone: str
    folder: str
    channels: Sequence[str]
    """Names; a private channel has none, and is named by its title."""


ACCOUNTS = (
    DemoAccount(
        "79990000001",
        "Новости",
        (
            *(
                "severny_vestnik",
                "srochno_24",
                "worldwire_now",
                "digest_ot_vsego",
                "slukhi_gorod",
                "severograd_live",
                "gorod_s_oknom",
            ),
            *("halbrook_daily", "northwick_post", "dps_ryadom", "mchs_po_delu"),
        ),
    ),
    DemoAccount(
        "79990000002",
        "Tech & Science",
        (
            *(
                "tech_almanac",
                "kod_i_kofe",
                "whisper_mill",
                "nauka_po_sredam",
                "nightly_science",
                "bezopasnik",
                "startup_kitchen",
            ),
            *("patch_notes_daily", "planeta_ryadom", "birzha_utro"),
        ),
    ),
    DemoAccount(
        "79990000003",
        "Наблюдение",
        (
            *(
                "open_eyes_osint",
                "glaz_so_sputnika",
                "port_watch",
                "proverim_foto",
                "Закрытый круг наблюдателей",
                "market_tide",
            ),
            *("sport_express_line", "pitch_side", "kultura_bez_pafosa", "old_cinema_club"),
        ),
    ),
)


async def fill_tenant(telegram: SimulatedTelegram, app: App) -> str:
    """Logs the accounts in, requests the channels, and returns a key for the API."""
    await log_accounts_in(telegram, app)
    await follow_folders(app)
    return await new_key(app)


async def log_accounts_in(telegram: SimulatedTelegram, app: App) -> None:
    """Gives every account a login at the simulator, which forgets all logins,
    joined channels and folders when it ends.
    """
    assert app.ingest is not None
    tenant, accounts = await demo_tenant(app), app.ingest.accounts
    ids = {
        name: int(channel["channel_id"])
        for channel in await telegram.call("GET", "/channels")
        for name in (channel["username"], channel["title"])
    }
    vault = vault_of(app.settings.telegram.encryption_key.get_secret_value())
    account_ids = [account.account_id for account in await accounts.all() if account.tenant == tenant.name]
    for index, demo_account in enumerate(ACCOUNTS):
        session = await _login(telegram, demo_account, ids)
        if index >= len(account_ids):
            await add_account(session, tenant.tenant_id, accounts=accounts, vault=vault)
            continue
        sealed = vault.seal(session, account_id=account_ids[index])
        await accounts.save_session(account_ids[index], key_id=sealed.key_id, session=sealed.content)
        await accounts.set_state(account_ids[index], AccountState.ACTIVE)


async def _login(telegram: SimulatedTelegram, account: DemoAccount, ids: Mapping[str, int]) -> str:
    joined_ids = [ids[name] for name in account.channels]
    await telegram.call("POST", "/accounts", phone=account.phone, joined=joined_ids)
    await telegram.call(
        "POST", f"/accounts/{account.phone}/folders", title=account.folder, channels=joined_ids
    )
    return str((await telegram.call("POST", f"/accounts/{account.phone}/session"))["session"])


async def follow_folders(app: App) -> None:
    """Requests the folder of each account, once. The ingest role then follows its channels."""
    tenant = await demo_tenant(app)
    stores = app.tenant(tenant.tenant_id)
    if await app.system.folders.list_for_tenant(tenant.tenant_id):
        return
    own_account_ids = [
        account.account_id for account in await app.system.accounts.all() if account.tenant == tenant.name
    ]
    for account, account_id in zip(ACCOUNTS, own_account_ids, strict=True):
        await follow_folder(
            account.folder,
            tenant=tenant,
            account_id=account_id,
            subscription=Subscription(channel_id=NOT_KNOWN_YET, history_days=HISTORY_DAYS, wants_media=True),
            accounts=app.system.accounts,
            requests=stores.requests,
        )


async def new_key(app: App) -> str:
    """A key for the API that replaces the one of the start before. Its secret is not stored."""
    keys, now = (await _stores(app)).keys, datetime.now(UTC)
    for key in (await list_keys(keys=keys, limit=1000)).keys:
        if key.name == KEY_NAME and key.revoked_at is None:
            await revoke_key(key.key_id, keys=keys, drop_cached_keys=RateLimits(app.redis).drop_cached_keys)
    scopes = SCOPES_OF[MemberRole.OWNER] - {KeyScope.OPERATE}
    return (
        await make_key(KEY_NAME, scopes, maker=KeyMaker(actor=KEY_NAME, scopes=scopes), keys=keys, now=now)
    ).secret


async def login_address(app: App) -> str:
    """Returns a link that logs a browser in once."""
    token = await make_login_link(await demo_owner(app), users=app.system.users, created_by=OWNER_NAME)
    return f"http://{LOOPBACK}:{app.settings.http.api_port}/link/{token}"


async def wait_for_channels(app: App) -> None:
    """Waits until the folders are followed."""
    requests = (await _stores(app)).requests
    while RequestKind.FOLDER in await requests.waiting():  # noqa: ASYNC110 -- another process acts
        await asyncio.sleep(LOOK_SECONDS)


async def wait_for_first(listed_text: str, *, port: int, key: str) -> None:
    """Waits until the API lists one of these (`feed`, `stories`), as it would answer anybody."""
    while not await asyncio.to_thread(  # noqa: ASYNC110 -- asks from outside
        _lists_any, f"{listed_text}?limit=1", port, key
    ):
        await asyncio.sleep(LOOK_SECONDS)


async def search_once(*, port: int, key: str) -> None:
    """Makes the api load its sentence model, if it has one, so that people do not wait for that."""
    await asyncio.to_thread(_lists_any, "search?limit=1&q=news", port, key)


def _lists_any(path: str, port: int, key: str) -> bool:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", f"/api/v1/{path}", headers={"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        return response.status == http.client.OK and bool(json.loads(response.read())["items"])
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


async def demo_owner(app: App) -> UserId:
    """The person whom the printed link lets in."""
    return (
        await app.system.users.join((await demo_tenant(app)).tenant_id, OWNER_NAME, role=MemberRole.OWNER)
    ).user_id


async def demo_tenant(app: App) -> Tenant:
    return await app.system.tenants.ensure(FIRST_TENANT, is_operator=True)


async def _stores(app: App) -> TenantStores:
    return app.tenant((await demo_tenant(app)).tenant_id)
