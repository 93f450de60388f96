"""Running SQL with the login of requests is not enough to let anybody in: the functions ask for a secret that
only the person knows.
"""

import asyncio
import hashlib
import secrets
from datetime import timedelta

import asyncpg
import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from argon2 import PasswordHasher

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.domain.people.person import PasswordVerifier
from telegram_assistant.features.people.passwords import PasswordQueue, Passwords
from telegram_assistant.settings import read_settings
from telegram_assistant.stores.postgres.database import ApiTransactions, Pool, TenantTransactions, open_pool
from telegram_assistant.stores.postgres.migrating import ROLES, migrate
from telegram_assistant.stores.postgres.people.people import PasswordAttempt, SessionStart
from telegram_assistant.stores.postgres.schema import MIGRATIONS
from telegram_assistant.stores.postgres.stores import ApiStores, SystemStores, api_stores
from testkit.factories import make_tenant
from tests.conftest import Admin

PASSWORD = "correct horse battery"
DAY = timedelta(days=1)


def start() -> SessionStart:
    return SessionStart(secrets.token_urlsafe(32), "test", DAY)


@pytest.fixture
async def person(system: SystemStores, api: ApiStores) -> tuple[UserId, str, str]:
    """Somebody with a password: their id, their name, and the token of a session."""
    name, begun, link = f"person {secrets.token_hex(6)}", start(), secrets.token_urlsafe(32)
    user_id = (await system.users.join(await make_tenant(system), name)).user_id
    await system.users.make_login_link(user_id, link, created_by="test", lifetime=DAY)
    assert await api.people.begin_session_by_link(link, begun) == user_id
    verifier = await Passwords().create_verifier(PASSWORD)
    assert await api.people.set_password(begun.token, old_proof=None, verifier=verifier) is not None
    return user_id, name, begun.token


async def log_in(api: ApiStores, name: str, password: str) -> UserId | None:
    parameters = await api.people.password_parameters(name)
    proof = await Passwords().prove(password, parameters, queue=PasswordQueue.LOGIN)
    return await api.people.begin_session_by_password(PasswordAttempt(name, proof, "", ""), start())


async def test_the_hash_of_the_password_begins_a_session_and_nothing_else_does(
    api: ApiStores, admin: Admin, person: tuple[UserId, str, str]
) -> None:
    user_id, name, _ = person
    assert await log_in(api, name, PASSWORD) == user_id
    assert await log_in(api, name, "wrong horse battery") is None
    stored = await admin.fetchval("SELECT password_digest FROM users WHERE user_id = $1", user_id)
    for proof in (stored, b"", bytes(32)):
        assert (
            await api.people.begin_session_by_password(PasswordAttempt(name, proof, "", ""), start()) is None
        )


async def test_a_password_that_was_stored_before_the_proofs_still_lets_in(
    empty_database: dict[str, str],
) -> None:
    config = Config(attributes={"url": empty_database["DATABASE_ADMIN_URL"]})
    config.set_main_option("script_location", str(MIGRATIONS))
    before = str(ScriptDirectory.from_config(config).get_revision("0060").down_revision)
    admin = await asyncpg.connect(empty_database["DATABASE_ADMIN_URL"])
    await admin.execute(ROLES)
    await asyncio.to_thread(command.upgrade, config, before)
    old = PasswordHasher().hash(PASSWORD)
    user_id = await admin.fetchval(
        "INSERT INTO users (name, password_hash) VALUES ('Анна', $1) RETURNING user_id", old
    )
    await admin.execute("INSERT INTO users (name) VALUES ('somebody without a password')")
    await admin.close()
    settings = read_settings(empty_database).database
    await migrate(settings, tell=lambda _: None)
    async with open_pool(settings) as pool:
        assert await log_in(api_stores(pool), "анна", PASSWORD) == user_id
        assert await log_in(api_stores(pool), "Анна", "wrong horse battery") is None
        assert await log_in(api_stores(pool), "somebody without a password", PASSWORD) is None


async def test_a_password_is_changed_with_a_session_and_the_old_password_only(
    api: ApiStores, person: tuple[UserId, str, str]
) -> None:
    user_id, name, token = person
    verifier = PasswordVerifier("$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ", bytes(32))
    old = await Passwords().prove(
        PASSWORD, await api.people.password_parameters(name), queue=PasswordQueue.CHANGE
    )
    hashed = hashlib.sha256(token.encode()).hexdigest()
    for session, proof in (
        ("nobody's", old),
        (hashed, old),
        (token, None),
        (token, b"wrong"),
        (token, hashlib.sha256(old).digest()),
    ):
        assert await api.people.set_password(session, old_proof=proof, verifier=verifier) is None
    assert await log_in(api, name, PASSWORD) == user_id
    assert await api.people.set_password(token, old_proof=old, verifier=verifier) == 1
    assert await log_in(api, name, PASSWORD) is None


async def test_the_login_of_requests_reads_neither_hashes_nor_sessions_nor_links(pool: Pool) -> None:
    for table in ("users", "sessions", "one_time_links"):
        for opening in (ApiTransactions(pool), TenantTransactions(pool, TenantId(1))):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                async with opening.begin() as connection:
                    await connection.fetch(f"SELECT * FROM {table}")


async def test_the_login_of_requests_calls_none_of_the_functions_behind_the_proofs(pool: Pool) -> None:
    for call in (
        "person_of_session('x')",
        "person_named('x')",
        "token_hash('x')",
        "note_of_person(1, 'x', 'x', '{}')",
        "add_session(1, '\\x00', 'x', '1 day', 'x')",
    ):
        for transactions in (ApiTransactions(pool), TenantTransactions(pool, TenantId(1))):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                async with transactions.begin() as connection:
                    await connection.execute(f"SELECT {call}")


async def test_nobody_is_invited_without_the_session_of_an_owner(
    pool: Pool, api: ApiStores, person: tuple[UserId, str, str]
) -> None:
    """The person of the session is owner of a tenant of their own, and nobody in the operator's."""
    _, _, token = person
    operator = (await api.key_directory.operator()).tenant_id
    async with TenantTransactions(pool, operator).begin() as connection:
        for session in ("", "x", token):
            assert (
                await connection.fetchval(
                    "SELECT make_invitation($1, '\\x00', 'owner', '1 day', 50)", session
                )
                is None
            )


async def test_the_functions_that_let_anybody_in_are_gone(admin: Admin) -> None:
    gone = ("begin_session", "password_of_person", "use_login_link", "create_person_by_link")
    assert await admin.fetch("SELECT 1 FROM pg_proc WHERE proname = ANY ($1)", list(gone)) == []
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM pg_attribute WHERE attrelid = 'users'::regclass "
            "AND attname = 'password_hash'"
        )
        == 0
    )
