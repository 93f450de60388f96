"""What `tga doctor` looks at in PostgreSQL."""

import asyncio
from datetime import UTC, datetime

import asyncpg

from telegram_assistant.domain.finding import Finding, bad, clock_skew, ok
from telegram_assistant.settings import DatabaseSettings, location_of
from telegram_assistant.stores.postgres.schema import Connection, schema_of

OLDEST_VERSION = 15
SUBJECT = "postgres"
NOTIFY_TIMEOUT_SECONDS = 3.0
UNIQUE_POSTS = """
SELECT EXISTS (
    SELECT 1 FROM pg_index i WHERE i.indrelid = to_regclass('posts') AND i.indisunique AND i.indisvalid AND ARRAY['channel_id', 'message_id'] = ARRAY(
        SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) ORDER BY a.attname))
"""


async def examine(settings: DatabaseSettings) -> list[Finding]:
    """One line when it cannot be used, else one for the server and one for each thing that is wrong with it."""
    where = location_of(settings.url)
    try:
        connection = await asyncpg.connect(settings.url.get_secret_value(), timeout=5, command_timeout=5)
    except (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError):
        remedy = "correct user and password in DATABASE_URL; `tga migrate` creates the login when DATABASE_ADMIN_URL is set"
        return [bad(SUBJECT, f"PostgreSQL at {where} refuses the login", remedy=remedy)]
    except asyncpg.InvalidCatalogNameError:
        return [bad(SUBJECT, f"there is no such database at {where}", remedy="create it (createdb), or correct DATABASE_URL")]
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        remedy = "start PostgreSQL, or correct DATABASE_URL"
        return [bad(SUBJECT, f"PostgreSQL at {where} does not answer ({type(error).__name__})", remedy=remedy)]
    try:
        return await _look(connection, where)
    finally:
        await connection.close(timeout=5)


async def _look(connection: Connection, where: str) -> list[Finding]:
    asked_at = datetime.now(UTC)
    server_time: datetime = await connection.fetchval("SELECT clock_timestamp()")
    version = str(await connection.fetchval("SHOW server_version")).split()[0]
    findings = [ok(SUBJECT, f"PostgreSQL {version} at {where}")]
    if connection.get_server_version().major < OLDEST_VERSION:
        findings.append(bad(f"{SUBJECT} version", f"PostgreSQL {version} is too old", remedy="use PostgreSQL 15 or newer"))
    findings += await _login(connection)
    findings += await _roles_and_schema(connection)
    findings += await _notifications(connection)
    findings += clock_skew(SUBJECT, (server_time - asked_at).total_seconds())
    return findings


async def _login(connection: Connection) -> list[Finding]:
    """Row-level security binds neither superusers nor owners: the running program must be neither."""
    login = await connection.fetchrow(
        """
        SELECT rolname, rolsuper, rolbypassrls,
               EXISTS (SELECT 1 FROM pg_roles o WHERE o.rolname = 'tga_owner' AND pg_has_role(r.oid, o.oid, 'MEMBER')) AS is_owner
        FROM pg_roles r WHERE rolname = current_user
        """
    )
    assert login is not None  # we are logged in as it
    too_strong = [
        word for word, has in (("a superuser", login["rolsuper"]), ("BYPASSRLS", login["rolbypassrls"]), ("the owner", login["is_owner"])) if has
    ]
    if not too_strong:
        return []
    remedy = "put a plain login into DATABASE_URL and this one into DATABASE_ADMIN_URL, then run `tga migrate`: it creates the plain one"
    return [bad(f"{SUBJECT} login", f"the login {login['rolname']} is {too_strong[0]}, so tenants are not separated", remedy=remedy)]


async def _roles_and_schema(connection: Connection) -> list[Finding]:
    member = await connection.fetchval(
        "SELECT count(*) = 2 FROM pg_roles WHERE rolname IN ('tga_system', 'tga_tenant') AND pg_has_role(current_user, oid, 'MEMBER')"
    )
    if not member:
        what = "the login may not act as tga_system and tga_tenant"
        return [bad(f"{SUBJECT} roles", what, remedy="run `tga migrate`")]
    schema = await schema_of(connection)
    if schema.is_behind:
        what = f"the schema is at {schema.revision or 'nothing'}, this version needs {schema.head}"
        return [bad(f"{SUBJECT} schema", what, remedy="run `tga migrate`")]
    return []


async def _notifications(connection: Connection) -> list[Finding]:
    """A transaction-pooling proxy accepts LISTEN and delivers nothing."""
    heard = asyncio.Event()

    def hear(*_: object) -> None:
        heard.set()

    await connection.add_listener("tga_doctor", hear)
    try:
        await connection.execute("NOTIFY tga_doctor")
        async with asyncio.timeout(NOTIFY_TIMEOUT_SECONDS):
            await heard.wait()
    except TimeoutError:
        remedy = "use the direct port or a session-pooled one (Supabase: port 5432, not 6543)"
        return [bad(f"{SUBJECT} notifications", "LISTEN does not work over this connection", remedy=remedy)]
    finally:
        await connection.remove_listener("tga_doctor", hear)
    return []


async def has_unique_posts(settings: DatabaseSettings) -> bool:
    """Whether the database itself refuses a second row for the same post; False also where it does not answer."""
    try:
        connection = await asyncpg.connect(settings.url.get_secret_value(), timeout=5, command_timeout=5)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False
    try:
        return bool(await connection.fetchval(UNIQUE_POSTS))
    finally:
        await connection.close(timeout=5)
