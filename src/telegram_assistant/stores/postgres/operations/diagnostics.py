"""Checks of `tga doctor` on PostgreSQL."""

from datetime import UTC, datetime

import asyncpg

from telegram_assistant.domain.operations.diagnosis import Finding, Severity, bad, clock_skew, ok, warning
from telegram_assistant.domain.operations.fullness import size_in_words
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import DatabaseLogin, DatabaseSettings, location_of
from telegram_assistant.stores.postgres.database import DISK_FULL
from telegram_assistant.stores.postgres.database_logins import (
    ROLES_OF,
    SYSTEM,
    TENANT,
    load_granted_roles,
    may_take,
    roles_by_user,
)
from telegram_assistant.stores.postgres.operations.pooling import examine_pooling
from telegram_assistant.stores.postgres.schema import Connection, load_schema

OLDEST_VERSION = 15
SUBJECT = "postgres"
UNIQUE_POSTS = """
SELECT EXISTS (
    SELECT 1 FROM pg_index i WHERE i.indrelid = to_regclass('posts') AND i.indisunique AND i.indisvalid
        AND ARRAY['channel_id', 'message_id'] = ARRAY(
        SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
        ORDER BY a.attname))
"""
MAY = {
    DatabaseLogin.API: Reason(
        "login_serves_requests", "serves requests: one tenant at a time, through narrow functions"
    ),
    DatabaseLogin.SYSTEM: Reason("login_sees_tenants", "sees every tenant, but no sessions"),
    DatabaseLogin.INGEST: Reason(
        "login_reads_sessions", "sees every tenant, and is the only one to read sessions"
    ),
}
MIGRATE = Reason("migrate_now", "run `tga migrate`")
POOLER_REFUSALS = ("authentication failed", "no such user")
"""Words of PgBouncer, which has no code of its own for a wrong login."""


async def examine(settings: DatabaseSettings) -> list[Finding]:
    """One finding if PostgreSQL cannot be used; otherwise one for the server,
    one per login and one per problem.
    """
    try:
        return await _examine(settings)
    except asyncpg.DiskFullError:
        return [
            bad(
                SUBJECT,
                DISK_FULL,
                remedy=Reason("free_postgres_disk", "free space on the disk of PostgreSQL, or enlarge it"),
            )
        ]


async def _examine(settings: DatabaseSettings) -> list[Finding]:
    findings = await _examine_server(settings)
    if any(finding.verdict is Severity.BAD and finding.subject == SUBJECT for finding in findings):
        return findings
    if len(roles_by_user(settings)) == 1:
        return findings + await _examine_only_login(settings)
    return findings + [
        finding for login in DatabaseLogin for finding in await _examine_login(settings, login)
    ]


async def _examine_server(settings: DatabaseSettings) -> list[Finding]:
    connection = await _connect(settings, DatabaseLogin.API)
    if isinstance(connection, Finding):
        return [connection]
    try:
        asked_at = datetime.now(UTC)
        server_time: datetime = await connection.fetchval("SELECT clock_timestamp()")
        version = str(await connection.fetchval("SHOW server_version")).split()[0]
        location = location_of(settings.url)
        findings = [
            ok(
                SUBJECT,
                Reason(
                    "server_found",
                    "{program} {version} at {where}",
                    program="PostgreSQL",
                    version=version,
                    where=location,
                ),
            )
        ]
        if connection.get_server_version().major < OLDEST_VERSION:
            reason = Reason(
                "program_too_old", "{program} {version} is too old", program="PostgreSQL", version=version
            )
            findings.append(
                bad(
                    f"{SUBJECT} version",
                    reason,
                    remedy=Reason("update_postgres", "use PostgreSQL 15 or newer"),
                )
            )
        size_text = size_in_words(await connection.fetchval("SELECT pg_database_size(current_database())"))
        findings.append(
            ok(f"{SUBJECT} size", Reason("database_size", "the database takes {size}", size=size_text))
        )
        findings += await examine_pooling(settings)
        findings += clock_skew(SUBJECT, (server_time - asked_at).total_seconds())
        return findings
    finally:
        await connection.close(timeout=5)


async def _examine_only_login(settings: DatabaseSettings) -> list[Finding]:
    """Checks a single login: it serves all purposes,
    or requests only in a process whose settings name no other.
    """
    connection = await _connect(settings, DatabaseLogin.API)
    if isinstance(connection, Finding):
        return [connection]
    subject, name = f"{SUBJECT} login", settings.name_of(DatabaseLogin.API)
    try:
        bad_findings = await _too_strong(connection, subject, DatabaseLogin.API) or await _schema(
            connection, ROLES_OF[DatabaseLogin.API]
        )
        if bad_findings:
            return bad_findings
        newer = await _newer_schema(connection, ROLES_OF[DatabaseLogin.API])
        if not await may_take(connection, SYSTEM):
            reason = Reason(
                "login_only_requests",
                "{login} serves requests only; worker and ingest need DATABASE_SYSTEM_URL and "
                "DATABASE_INGEST_URL",
                login=name,
            )
            return [*newer, ok(subject, reason)]
    finally:
        await connection.close(timeout=5)
    reason = Reason(
        "login_does_everything",
        "{login} does everything, so a vulnerability in the API exposes every tenant and the sealed sessions",
        login=name,
    )
    remedy = Reason(
        "separate_logins",
        "set DATABASE_SYSTEM_URL and DATABASE_INGEST_URL, then run `tga migrate`; a single-person "
        "installation can do without",
    )
    return [*newer, warning(subject, reason, remedy=remedy)]


async def _examine_login(settings: DatabaseSettings, login: DatabaseLogin) -> list[Finding]:
    """Reports BAD if the login has too few or too many rights."""
    subject, name = f"{SUBJECT} {login.value}", settings.name_of(login)
    wanted_roles = roles_by_user(settings)[name]
    connection = await _connect(settings, login)
    if isinstance(connection, Finding):
        return [connection]
    try:
        bad_findings = await _too_strong(connection, subject, login) or await _schema(
            connection, wanted_roles
        )
        if bad_findings:
            return bad_findings
        newer = await _newer_schema(connection, wanted_roles) if login is DatabaseLogin.API else []
        extra_roles = sorted(await load_granted_roles(connection, name) - wanted_roles)
    finally:
        await connection.close(timeout=5)
    if extra_roles:
        reason = Reason(
            "login_too_strong",
            "the login {login} must not be able to become {roles}",
            login=name,
            roles=", ".join(extra_roles),
        )
        return [
            *newer,
            bad(
                subject,
                reason,
                remedy=Reason("migrate_takes_away", "run `tga migrate`: it removes this right"),
            ),
        ]
    shared = [
        other.value for other in DatabaseLogin if other is not login and settings.name_of(other) == name
    ]
    if shared:
        reason = Reason(
            "login_is_shared", "{login} is also the login of {others}", login=name, others=", ".join(shared)
        )
        return [
            *newer,
            warning(
                subject,
                reason,
                remedy=Reason("own_login", "set {variable} to a login of its own", variable=login.variable),
            ),
        ]
    return [*newer, ok(subject, Reason("login_may", "{login} {may}", login=name, may=MAY[login]))]


async def _connect(
    settings: DatabaseSettings, login: DatabaseLogin
) -> "asyncpg.Connection[asyncpg.Record] | Finding":
    url = settings.url_of(login)
    location, subject = (
        location_of(url),
        SUBJECT if login is DatabaseLogin.API else f"{SUBJECT} {login.value}",
    )
    try:
        return await asyncpg.connect(url.get_secret_value(), timeout=5, command_timeout=5)
    except (asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError):
        return _login_refused(subject, location, login)
    except asyncpg.InvalidCatalogNameError:
        reason = Reason("no_such_database", "there is no such database at {where}", where=location)
        return bad(
            subject,
            reason,
            remedy=Reason(
                "create_database", "create it (createdb), or correct {variable}", variable=login.variable
            ),
        )
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        if isinstance(error, asyncpg.ProtocolViolationError) and any(
            words in str(error) for words in POOLER_REFUSALS
        ):
            return _login_refused(subject, location, login)
        reason = Reason(
            "postgres_at_silent",
            "PostgreSQL at {where} does not answer ({error})",
            where=location,
            error=type(error).__name__,
        )
        return bad(
            subject,
            reason,
            remedy=Reason(
                "start_postgres", "start PostgreSQL, or correct {variable}", variable=login.variable
            ),
        )


def _login_refused(subject: str, location: str, login: DatabaseLogin) -> Finding:
    return bad(
        subject,
        Reason("postgres_refuses_login", "PostgreSQL at {where} refuses the login", where=location),
        remedy=Reason(
            "correct_login",
            "correct user and password in {variable}; `tga migrate` creates the login when "
            "DATABASE_ADMIN_URL is set",
            variable=login.variable,
        ),
    )


async def _too_strong(connection: Connection, subject: str, login: DatabaseLogin) -> list[Finding]:
    """Row-level security applies neither to superusers nor to owners, so no running process may be either."""
    row = await connection.fetchrow(
        """
        SELECT rolname, rolsuper, rolbypassrls,
               EXISTS (SELECT 1 FROM pg_roles o WHERE o.rolname = 'tga_owner'
                   AND pg_has_role(r.oid, o.oid, 'MEMBER')) AS is_owner
        FROM pg_roles r WHERE rolname = current_user
        """
    )
    assert row is not None  # we are logged in as it
    rights = [
        right
        for right, is_held in (
            ("SUPERUSER", row["rolsuper"]),
            ("BYPASSRLS", row["rolbypassrls"]),
            ("tga_owner", row["is_owner"]),
        )
        if is_held
    ]
    if not rights:
        return []
    remedy = Reason(
        "plain_login",
        "put a plain login into {variable} and this one into DATABASE_ADMIN_URL, then run `tga migrate`: "
        "it creates the plain one",
        variable=login.variable,
    )
    reason = Reason(
        "login_passes_separation",
        "the login {login} has {right}, so tenants are not separated",
        login=row["rolname"],
        right=rights[0],
    )
    return [bad(subject, reason, remedy=remedy)]


async def _schema(connection: Connection, wanted_roles: frozenset[str]) -> list[Finding]:
    missing_roles = [role for role in sorted(wanted_roles) if not await may_take(connection, role)]
    if missing_roles:
        reason = Reason(
            "login_lacks_roles", "the login is not allowed to act as {roles}", roles=", ".join(missing_roles)
        )
        return [bad(f"{SUBJECT} roles", reason, remedy=MIGRATE)]
    schema = await load_schema(connection, role=min(wanted_roles - {TENANT}))
    if schema.is_behind:
        reason = Reason(
            "schema_behind",
            "the schema is at {revision}, this version needs {head}",
            revision=schema.revision or "–",
            head=schema.head,
        )
        return [bad(f"{SUBJECT} schema", reason, remedy=MIGRATE)]
    return []


async def _newer_schema(connection: Connection, wanted_roles: frozenset[str]) -> list[Finding]:
    """Tells who has rolled back the program that the database has not gone back with it."""
    schema = await load_schema(connection, role=min(wanted_roles - {TENANT}))
    if not schema.is_newer:
        return []
    remedy = Reason(
        "run_newer_program",
        "run the release that migrated it; this one works meanwhile but migrates nothing",
    )
    return [warning(f"{SUBJECT} schema", schema.place, remedy=remedy)]


async def has_unique_posts(settings: DatabaseSettings) -> bool | None:
    """Whether the database itself refuses a second row for the same post; None if it does not answer."""
    try:
        connection = await asyncpg.connect(settings.url.get_secret_value(), timeout=5, command_timeout=5)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return None
    try:
        return bool(await connection.fetchval(UNIQUE_POSTS))
    finally:
        await connection.close(timeout=5)
