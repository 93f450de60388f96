"""Reads from the database's own catalogue what every table is and who may see it:
no list to forget an entry in.
"""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import count
from typing import Any
from uuid import UUID

from asyncpg import Range

from tests.conftest import Admin

CLASSES = {"tenant", "person", "subscribed", "system"}
DEFINER_FUNCTIONS = {
    "search_words": "tenant",
    "index_watch": "tenant",
    "forget_watch_terms": "tenant",
    "preview_watch": "tenant",
    "read_pictures": "tenant",
    "find_feed": "api",
    "find_feed_address": "api",
    "find_public_link": "api",
    "similar_word": "tenant",
    "mended_word": "tenant",
    "channels_for_provider": "tenant",
    "reading_of_channels": "tenant",
    "release_channel": "tenant",
    "limits_of_accounts": "tenant",
    "work_of_accounts": "tenant",
    "vocabulary_tags": "tenant",
    "posts_with_tags": "tenant",
    "tags_in_use": "tenant",
    "keyword_counts": "tenant",
    "keyword_posts": "tenant",
    "poll_followed_channel": "tenant",
    "own_accounts_of_channel": "tenant",
    "accounts_for_requests": "tenant",
    "beside_requests": "tenant",
    "forget_own_login": "tenant",
    "want_own_history": "tenant",
    "members_of_tenant": "tenant",
    "set_member_role": "tenant",
    "remove_member": "tenant",
    "things_of_member": "tenant",
    "make_invitation": "tenant",
    "open_invitations": "tenant",
    "withdraw_invitation": "tenant",
    "begin_login": "tenant",
    "find_login": "tenant",
    "answer_login": "tenant",
    "give_up_login": "tenant",
    "telegram_setup": "tenant",
    "enter_telegram_secret": "tenant",
    "forget_telegram_secret": "tenant",
    "refresh_tiers": "tenant system",
    "vectors_are_complete": "tenant",
    "revisions_before": "tenant",
    "current_story": "tenant system",
    "find_caller": "api",
    "find_operator": "api",
    "find_session": "api",
    "begin_session_by_link": "api",
    "begin_session_by_password": "api",
    "end_sessions": "api",
    "note_login_alarm": "api",
    "sessions_of_person": "api",
    "password_parameters": "api",
    "set_password": "api",
    "set_preferences": "api",
    "has_owner": "api",
    "has_people": "api",
    "create_first_owner": "api",
    "find_link": "api",
    "join_by_link": "api",
    "accept_invitation": "api",
    "reserve_for_question": "api",
    "settle_question": "api",
    "schema_revision": "api system",
    "operator_tenants": "api",
    "operator_create_tenant": "api",
    "operator_suspend_tenant": "api",
    "operator_resume_tenant": "api",
    "operator_set_media_quota": "api",
    "operator_set_budget": "api",
    "list_dead_letters": "api system",
    "find_dead_letter": "api system",
    "remove_dead_letter": "api system",
    "report_process": "api",
    "operator_processes": "api",
    "operator_stage_minutes": "api",
    "operator_backlog": "api system",
    "operator_job_runs": "api",
    "operator_parked_channels": "api",
    "make_partition": "system",
    "drop_partitions": "system",
    "begin_post_search": "system",
    "follow_post_search_from_now": "system",
    "switch_post_search": "system",
}
"""The only functions that run with their owner's rights, and who may call them.

Each is a door in the wall: add one on purpose.
"""
SEALED = {"telegram_accounts": "session", "login_attempts": "answer", "telegram_secrets": "sealed"}
"""Columns that only ingest reads."""

AS_ITS_POST = re.compile(
    r"EXISTS \( SELECT 1\s+FROM posts p\s+WHERE \(+p\.channel_id = \w+\.channel_id\) "
    r"AND \(p\.message_id = \w+\.message_id\)+"
)
"""A row is seen where its post is, and posts ask for the tenant."""


@dataclass(frozen=True)
class Table:
    name: str
    table_class: str | None
    columns: frozenset[str]
    secured: bool
    forced: bool
    tenant_policies: tuple[str, ...]
    tenant_may: frozenset[str]


async def tables(admin: Admin) -> list[Table]:
    rows = await admin.fetch(
        """
        SELECT c.relname, obj_description(c.oid, 'pg_class') AS about, c.relrowsecurity,
            c.relforcerowsecurity,
               ARRAY(SELECT a.attname::text FROM pg_attribute a
                   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
               ARRAY(SELECT pg_get_expr(p.polqual, p.polrelid) FROM pg_policy p
                     WHERE p.polrelid = c.oid AND p.polroles && ARRAY['tga_tenant'::regrole::oid,
                         0::oid]) AS policies,
               ARRAY(SELECT right_ FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE',
                   'REFERENCES', 'TRIGGER']) right_
                     WHERE has_table_privilege('tga_tenant', c.oid, right_)
                        OR (right_ IN ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')
                            AND has_any_column_privilege('tga_tenant', c.oid, right_))) AS tenant_may
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
        ORDER BY c.relname
        """
    )
    return [
        Table(
            row["relname"],
            class_in(row["about"]),
            frozenset(row["columns"]),
            row["relrowsecurity"],
            row["relforcerowsecurity"],
            tuple(row["policies"]),
            frozenset(row["tenant_may"]),
        )
        for row in rows
    ]


def class_in(about: str | None) -> str | None:
    match = re.match(r"class: (\w+)\.", about or "")
    return match.group(1) if match else None


async def complaints(admin: Admin) -> list[str]:
    """Everything in the catalogue that would let a tenant see what is not its own."""
    problems = [complaint for table in await tables(admin) for complaint in about_table(table)]
    problems += [
        f"partition {row[0]} can be reached by tga_tenant around its parent's policy"
        for row in await admin.fetch(
            """
            SELECT c.relname FROM pg_class c WHERE c.relispartition
                AND c.relnamespace = 'public'::regnamespace
            AND (has_table_privilege('tga_tenant', c.oid, 'SELECT, INSERT, UPDATE, DELETE')
                 OR has_any_column_privilege('tga_tenant', c.oid, 'SELECT'))
            """
        )
    ]
    problems += [
        complaint
        for row in await admin.fetch(FUNCTIONS)
        for complaint in about_function(row["proname"], frozenset(row["callers"]))
    ]
    problems += [f"tga_api can reach the table {row[0]}" for row in await admin.fetch(OPEN_TO_API)]
    for table, column in SEALED.items():
        if await admin.fetchval("SELECT has_column_privilege('tga_system', $1, $2, 'SELECT')", table, column):
            problems.append(f"tga_system can read {table}.{column}")
    return problems


FUNCTIONS = """
SELECT p.proname,
       ARRAY(SELECT c FROM unnest(ARRAY['tenant', 'api', 'system']) c
           WHERE has_function_privilege('tga_' || c, p.oid, 'EXECUTE')) AS callers
FROM pg_proc p WHERE p.prosecdef AND p.pronamespace = 'public'::regnamespace ORDER BY p.proname
"""
OPEN_TO_API = """
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND (has_table_privilege('tga_api', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
       OR has_any_column_privilege('tga_api', c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
"""


def about_function(name: str, callers: frozenset[str]) -> list[str]:
    if name not in DEFINER_FUNCTIONS:
        return [f"function {name} runs with its owner's rights and is not on the list"]
    return [
        f"function {name} may be called by tga_{caller}"
        for caller in sorted(callers - set(DEFINER_FUNCTIONS[name].split()))
    ]


def about_table(table: Table) -> list[str]:
    if table.table_class not in CLASSES:
        return [f"table {table.name} has no class in its comment"]
    problems = []
    if not (table.secured and table.forced):
        problems.append(f"table {table.name} does not force row-level security")
    if table.table_class == "system":
        if table.tenant_may or table.tenant_policies:
            problems.append(f"system table {table.name} is open to tga_tenant")
        return problems
    keys = {"tenant": {"tenant_id"}, "person": {"tenant_id", "user_id"}, "subscribed": {"channel_id"}}[
        table.table_class
    ]
    problems += [
        f"{table.table_class} table {table.name} has no {key}" for key in sorted(keys - table.columns)
    ]
    if table.table_class == "person" and any(
        "current_person()" not in policy for policy in table.tenant_policies
    ):
        problems.append(f"person table {table.name} has a policy that does not ask for the person")
    if not table.tenant_policies:
        problems.append(f"{table.table_class} table {table.name} has no policy for tga_tenant")
    if any(
        "current_tenant()" not in policy and not AS_ITS_POST.search(policy)
        for policy in table.tenant_policies
    ):
        problems.append(
            f"{table.table_class} table {table.name} has a policy that does not ask for the tenant"
        )
    if (
        "message_id" in table.columns
        and table.table_class != "person"
        and not any(
            "visible_from" in policy or AS_ITS_POST.search(policy) for policy in table.tenant_policies
        )
    ):
        problems.append(
            f"{table.table_class} table {table.name} tells of posts from before a tenant's window"
        )
    return problems


_numbers = count(7_000_000_000)


async def insert_row(admin: Admin, table: str, **known: Any) -> None:
    """A row with whatever the table needs: known values first,
    then something of the right type for every column that must be given.
    """
    columns = await admin.fetch(
        """
        SELECT a.attname, format_type(a.atttypid, NULL) AS type FROM pg_attribute a
        WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped
          AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
        """,
        table,
    )
    values = {row["attname"]: value_of(row["type"]) for row in columns} | known
    places = ", ".join(f"${number}" for number in range(1, len(values) + 1))
    await admin.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({places})", *values.values())


def value_of(column_type: str) -> Any:
    number = next(_numbers)
    return {
        "bigint": number,
        "integer": 1,
        "smallint": 1,
        "real": 1.0,
        "boolean": True,
        "text": f"text {number}",
        "bytea": str(number).encode(),
        "jsonb": "{}",
        "date": date(2026, 11, 1),
        "uuid": UUID(int=number),
        "timestamp with time zone": datetime(2026, 11, 1, tzinfo=UTC),
        "int8multirange": [Range(1, 5)],
        "int8multirange[]": [],
        "bigint[]": [number],
        "text[]": ["text"],
        "smallint[]": [1],
        "time without time zone[]": [],
    }[column_type]
