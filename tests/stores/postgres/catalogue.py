"""Reads from the database's own catalogue what every table is and who may see it: no list to forget an entry in."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import count
from typing import Any
from uuid import UUID

from asyncpg import Range

from tests.conftest import Admin

CLASSES = {"tenant", "subscribed", "system"}
FOR_TENANTS = {
    "search_words",
    "reading_of_channels",
    "release_channel",
    "poll_followed_channel",
    "accounts_for_requests",
    "beside_requests",
    "limits_of_accounts",
    "work_of_accounts",
    "vocabulary_tags",
    "posts_with_tags",
    "tags_in_use",
    "vectors_are_complete",
    "revisions_before",
}
"""Functions with their owner's rights that tenants may call. Each is a door in the wall: add one on purpose."""
FOR_THE_OPERATOR = {
    "operator_tenants",
    "operator_create_tenant",
    "operator_suspend_tenant",
    "operator_resume_tenant",
    "operator_set_media_quota",
    "operator_set_budget",
}
UPKEEP = {"make_partition", "drop_partitions", "begin_post_search", "follow_post_search_from_now", "switch_post_search"}
DEFINER_FUNCTIONS = UPKEEP | FOR_THE_OPERATOR | FOR_TENANTS
"""The only functions that may run with their owner's rights."""

AS_ITS_POST = re.compile(r"EXISTS \( SELECT 1\s+FROM posts p\s+WHERE \(+p\.channel_id = \w+\.channel_id\) AND \(p\.message_id = \w+\.message_id\)+")
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
        SELECT c.relname, obj_description(c.oid, 'pg_class') AS about, c.relrowsecurity, c.relforcerowsecurity,
               ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
               ARRAY(SELECT pg_get_expr(p.polqual, p.polrelid) FROM pg_policy p
                     WHERE p.polrelid = c.oid AND p.polroles && ARRAY['tga_tenant'::regrole::oid, 0::oid]) AS policies,
               ARRAY(SELECT right_ FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) right_
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
    found = re.match(r"class: (\w+)\.", about or "")
    return found.group(1) if found else None


async def complaints(admin: Admin) -> list[str]:
    """Everything in the catalogue that would let a tenant see what is not its own."""
    found = [complaint for table in await tables(admin) for complaint in about_table(table)]
    found += [
        f"partition {row[0]} can be reached by tga_tenant around its parent's policy"
        for row in await admin.fetch(
            """
            SELECT c.relname FROM pg_class c WHERE c.relispartition AND c.relnamespace = 'public'::regnamespace
            AND (has_table_privilege('tga_tenant', c.oid, 'SELECT, INSERT, UPDATE, DELETE')
                 OR has_any_column_privilege('tga_tenant', c.oid, 'SELECT'))
            """
        )
    ]
    found += [
        f"function {row[0]} runs with its owner's rights and is not on the list"
        for row in await admin.fetch(
            "SELECT proname FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace AND proname <> ALL($1)", list(DEFINER_FUNCTIONS)
        )
    ]
    found += [
        f"function {row[0]} may be called by a tenant or by everybody"
        for row in await admin.fetch(
            """
            SELECT proname FROM pg_proc WHERE prosecdef AND pronamespace = 'public'::regnamespace
            AND has_function_privilege('tga_tenant', oid, 'EXECUTE') AND proname <> ALL($1)
            """,
            list(FOR_TENANTS),
        )
    ]
    return found


def about_table(table: Table) -> list[str]:
    if table.table_class not in CLASSES:
        return [f"table {table.name} has no class in its comment"]
    found = []
    if not (table.secured and table.forced):
        found.append(f"table {table.name} does not force row-level security")
    if table.table_class == "system":
        if table.tenant_may or table.tenant_policies:
            found.append(f"system table {table.name} is open to tga_tenant")
        return found
    key = "tenant_id" if table.table_class == "tenant" else "channel_id"
    if key not in table.columns:
        found.append(f"{table.table_class} table {table.name} has no {key}")
    if not table.tenant_policies:
        found.append(f"{table.table_class} table {table.name} has no policy for tga_tenant")
    if any("current_tenant()" not in policy and not AS_ITS_POST.search(policy) for policy in table.tenant_policies):
        found.append(f"{table.table_class} table {table.name} has a policy that does not ask for the tenant")
    if "message_id" in table.columns and not any("visible_from" in policy or AS_ITS_POST.search(policy) for policy in table.tenant_policies):
        found.append(f"{table.table_class} table {table.name} tells of posts from before a tenant's window")
    return found


_numbers = count(7_000_000_000)


async def insert_row(admin: Admin, table: str, **known: Any) -> None:
    """A row with whatever the table needs: known values first, then something of the right type for every column that must be given."""
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
        "bigint[]": [number],
        "text[]": ["text"],
    }[column_type]
