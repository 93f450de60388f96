"""Checks of `tga doctor` on PostgreSQL."""

import asyncio
from datetime import UTC, datetime

import asyncpg

from telegram_assistant.domain.diagnosis import Finding, Severity, bad, clock_skew, ok, warning
from telegram_assistant.settings import DatabaseLogin, DatabaseSettings, location_of
from telegram_assistant.stores.postgres.database_logins import ROLES_OF, SYSTEM, TENANT, granted_roles, may_take, roles_by_user
from telegram_assistant.stores.postgres.schema import Connection, schema_of

OLDEST_VERSION = 15
SUBJECT = "postgres"
NOTIFY_TIMEOUT_SECONDS = 3.0
UNIQUE_POSTS = """
SELECT EXISTS (
    SELECT 1 FROM pg_index i WHERE i.indrelid = to_regclass('posts') AND i.indisunique AND i.indisvalid AND ARRAY['channel_id', 'message_id'] = ARRAY(
        SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey) ORDER BY a.attname))
"""
MAY = {
    DatabaseLogin.API: "serves requests: one tenant at a time, and narrow functions",
    DatabaseLogin.SYSTEM: "sees every tenant and no session",
    DatabaseLogin.INGEST: "sees every tenant, and alone reads sessions",
}


async def examine(settings: DatabaseSettings) -> list[Finding]:
    """One finding if PostgreSQL cannot be used; otherwise one for the server, one per login and one per problem."""
    findings = await _examine_server(settings)
    if any(finding.verdict is Severity.BAD and finding.subject == SUBJECT for finding in findings):
        return findings
    if len(roles_by_user(settings)) == 1:
        return findings + await _examine_only_login(settings)
    return findings + [finding for login in DatabaseLogin for finding in await _examine_login(settings, login)]


async def _examine_server(settings: DatabaseSettings) -> list[Finding]:
    connection = await _connect(settings, DatabaseLogin.API)
    if isinstance(connection, Finding):
        return [connection]
    try:
        asked_at = datetime.now(UTC)
        server_time: datetime = await connection.fetchval("SELECT clock_timestamp()")
        version = str(await connection.fetchval("SHOW server_version")).split()[0]
        findings = [ok(SUBJECT, f"PostgreSQL {version} at {location_of(settings.url)}")]
        if connection.get_server_version().major < OLDEST_VERSION:
            findings.append(bad(f"{SUBJECT} version", f"PostgreSQL {version} is too old", remedy="use PostgreSQL 15 or newer"))
        findings += await _notifications(connection)
        findings += clock_skew(SUBJECT, (server_time - asked_at).total_seconds())
        return findings
    finally:
        await connection.close(timeout=5)


async def _examine_only_login(settings: DatabaseSettings) -> list[Finding]:
    """Checks a single login: it serves all purposes, or requests only in a process whose settings name no other."""
    connection = await _connect(settings, DatabaseLogin.API)
    if isinstance(connection, Finding):
        return [connection]
    subject, name = f"{SUBJECT} login", settings.name_of(DatabaseLogin.API)
    try:
        wrong = await _too_strong(connection, subject, DatabaseLogin.API) or await _schema(connection, ROLES_OF[DatabaseLogin.API])
        if wrong:
            return wrong
        if not await may_take(connection, SYSTEM):
            return [ok(subject, f"{name} serves requests only; worker and ingest need DATABASE_SYSTEM_URL and DATABASE_INGEST_URL")]
    finally:
        await connection.close(timeout=5)
    what = f"{name} does everything, so a hole in the API reads every tenant and the sealed sessions"
    return [warning(subject, what, remedy="set DATABASE_SYSTEM_URL and DATABASE_INGEST_URL, then run `tga migrate`; one person may do without")]


async def _examine_login(settings: DatabaseSettings, login: DatabaseLogin) -> list[Finding]:
    """Reports BAD if the login has too few or too many rights."""
    subject, name = f"{SUBJECT} {login.value}", settings.name_of(login)
    wanted = roles_by_user(settings)[name]
    connection = await _connect(settings, login)
    if isinstance(connection, Finding):
        return [connection]
    try:
        wrong = await _too_strong(connection, subject, login) or await _schema(connection, wanted)
        if wrong:
            return wrong
        more = sorted(await granted_roles(connection, name) - wanted)
    finally:
        await connection.close(timeout=5)
    if more:
        return [bad(subject, f"the login {name} may become {' and '.join(more)}, which it must not", remedy="run `tga migrate`: it takes that away")]
    shared = [other.value for other in DatabaseLogin if other is not login and settings.name_of(other) == name]
    if shared:
        return [warning(subject, f"{name} is the login of {' and '.join(shared)} too", remedy=f"set {login.variable} to a login of its own")]
    return [ok(subject, f"{name} {MAY[login]}")]


async def _connect(settings: DatabaseSettings, login: DatabaseLogin) -> "asyncpg.Connection[asyncpg.Record] | Finding":
    url = settings.url_of(login)
    where, subject = location_of(url), SUBJECT if login is DatabaseLogin.API else f"{SUBJECT} {login.value}"
    try:
        return await asyncpg.connect(url.get_secret_value(), timeout=5, command_timeout=5)
    except (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError):
        remedy = f"correct user and password in {login.variable}; `tga migrate` creates the login when DATABASE_ADMIN_URL is set"
        return bad(subject, f"PostgreSQL at {where} refuses the login", remedy=remedy)
    except asyncpg.InvalidCatalogNameError:
        return bad(subject, f"there is no such database at {where}", remedy=f"create it (createdb), or correct {login.variable}")
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        remedy = f"start PostgreSQL, or correct {login.variable}"
        return bad(subject, f"PostgreSQL at {where} does not answer ({type(error).__name__})", remedy=remedy)


async def _too_strong(connection: Connection, subject: str, login: DatabaseLogin) -> list[Finding]:
    """Row-level security applies neither to superusers nor to owners, so no running process may be either."""
    row = await connection.fetchrow(
        """
        SELECT rolname, rolsuper, rolbypassrls,
               EXISTS (SELECT 1 FROM pg_roles o WHERE o.rolname = 'tga_owner' AND pg_has_role(r.oid, o.oid, 'MEMBER')) AS is_owner
        FROM pg_roles r WHERE rolname = current_user
        """
    )
    assert row is not None  # we are logged in as it
    words = [word for word, has in (("a superuser", row["rolsuper"]), ("BYPASSRLS", row["rolbypassrls"]), ("the owner", row["is_owner"])) if has]
    if not words:
        return []
    remedy = f"put a plain login into {login.variable} and this one into DATABASE_ADMIN_URL, then run `tga migrate`: it creates the plain one"
    return [bad(subject, f"the login {row['rolname']} is {words[0]}, so tenants are not separated", remedy=remedy)]


async def _schema(connection: Connection, wanted: frozenset[str]) -> list[Finding]:
    missing = [role for role in sorted(wanted) if not await may_take(connection, role)]
    if missing:
        return [bad(f"{SUBJECT} roles", f"the login may not act as {' and '.join(missing)}", remedy="run `tga migrate`")]
    schema = await schema_of(connection, role=min(wanted - {TENANT}))
    if schema.is_behind:
        what = f"the schema is at {schema.revision or 'nothing known'}, this version needs {schema.head}"
        return [bad(f"{SUBJECT} schema", what, remedy="run `tga migrate`")]
    return []


async def _notifications(connection: Connection) -> list[Finding]:
    """Checks LISTEN and NOTIFY: a transaction-pooling proxy accepts LISTEN and delivers nothing."""
    received = asyncio.Event()

    def receive(*_: object) -> None:
        received.set()

    await connection.add_listener("tga_doctor", receive)
    try:
        await connection.execute("NOTIFY tga_doctor")
        async with asyncio.timeout(NOTIFY_TIMEOUT_SECONDS):
            await received.wait()
    except TimeoutError:
        remedy = "use the direct port or a session-pooled one (Supabase: port 5432, not 6543)"
        return [bad(f"{SUBJECT} notifications", "LISTEN does not work over this connection", remedy=remedy)]
    finally:
        await connection.remove_listener("tga_doctor", receive)
    return []


async def has_unique_posts(settings: DatabaseSettings) -> bool:
    """Whether the database itself refuses a second row for the same post; False also if it does not answer."""
    try:
        connection = await asyncpg.connect(settings.url.get_secret_value(), timeout=5, command_timeout=5)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return False
    try:
        return bool(await connection.fetchval(UNIQUE_POSTS))
    finally:
        await connection.close(timeout=5)
