"""Draws the tables of PostgreSQL as Mermaid diagrams: `python -m testkit.schema_diagram` writes
docs/schema.md.

It reads the catalogue of the migrated database at DATABASE_ADMIN_URL, so the diagrams show what the
migrations made.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg

SCHEMA_PAGE = Path(__file__).parent.parent / "docs/schema.md"

SUBJECTS: dict[str, tuple[str, ...]] = {
    "Tenants and access": (
        "tenants",
        "users",
        "memberships",
        "api_keys",
        "audit_log",
        "idempotency_keys",
        "quotas",
        "installation_keys",
    ),
    "People": (
        "sessions",
        "one_time_links",
        "visits",
        "read_ledger",
        "read_actions",
        "saved_posts",
        "digest_plans",
        "digests",
        "interests",
        "feedback",
        "story_marks",
        "mutes",
        "saved_searches",
        "public_links",
        "lists",
        "list_items",
    ),
    "Telegram accounts": (
        "telegram_accounts",
        "login_attempts",
        "ingest_keys",
        "telegram_secrets",
        "account_limits",
        "account_plans",
        "account_channels",
        "push_state",
    ),
    "Channels and subscriptions": (
        "channels",
        "subscriptions",
        "tenant_news",
        "channel_records",
        "channel_record_posts",
        "channel_requests",
        "joined_channels",
        "followed_folders",
        "folder_channels",
    ),
    "Schedule and coverage": (
        "poll_schedule",
        "channel_profiles",
        "backfills",
        "coverage",
        "preview_coverage",
        "preview_reader",
    ),
    "Posts": (
        "posts",
        "post_versions",
        "post_counts",
        "post_raw",
        "media_groups",
        "forwards",
        "post_links",
        "links",
        "erasures",
        "post_search",
        "search_vocabulary",
    ),
    "Stories": (
        "stories",
        "story_posts",
        "story_links",
        "written_summaries",
        "posts_apart",
        "post_terms",
        "term_postings",
        "term_counts",
        "story_looks",
        "story_dirty",
        "trend_days",
    ),
    "Files": ("post_media", "media_jobs", "media_objects", "media_sources", "media_results"),
    "Understanding": (
        "post_enrichment",
        "pages",
        "near_texts",
        "vocabulary",
        "tag_proposals",
        "tenant_tags",
        "provider_wanted",
        "ai_results",
    ),
    "Spending": ("ai_consents", "budgets", "budget_reservations", "usage"),
    "Watches": (
        "watches",
        "watch_terms",
        "alerts",
        "alert_fanouts",
        "receivers",
        "deliveries",
        "receiver_secrets",
        "delivery_shares",
        "unsubscribed_addresses",
        "letter_counts",
        "feed_addresses",
    ),
    "Delivery and upkeep": (
        "outbox",
        "notices",
        "dead_letters",
        "stream_epoch",
        "job_runs",
        "due_work",
        "rebuilds",
        "processes",
        "stage_minutes",
        "alembic_version",
    ),
}

HEAD = """\
# Schema

This page draws every table of PostgreSQL, by subject. `python -m testkit.schema_diagram` writes this page \
from the catalogue of a migrated database, and
`tests/stores/postgres/test_schema_diagram.py` fails when it is out of date. Do not edit it by hand.

The class of a table decides which rows a tenant sees ([isolation](tenants.md#isolation)): its own (*tenant*),
those of the person that it works for (*person*), those of channels that it follows (*subscribed*),
or none (*system*). A solid line is a foreign key.
A dotted line is a reference without one: the tables of posts are partitioned by
channel, and no foreign key crosses partitions, so that they can move to other servers. \
Partitions are left out.
"""

TABLES = """
SELECT c.relname AS name, c.relkind = 'p' AS is_partitioned, obj_description(c.oid, 'pg_class') AS about,
       coalesce(pg_get_partkeydef(c.oid), '') AS partition_key
FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
"""

COLUMNS = """
SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, NULL) AS type,
    NOT a.attnotnull AS is_nullable,
       coalesce(a.attnum = ANY (pk.conkey), false) AS is_key,
       EXISTS (SELECT 1 FROM pg_constraint f WHERE f.contype = 'f' AND f.conrelid = c.oid
           AND a.attnum = ANY (f.conkey)) AS is_foreign
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_constraint pk ON pk.conrelid = c.oid AND pk.contype = 'p'
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
ORDER BY c.relname, a.attnum
"""

FOREIGN_KEYS = """
SELECT f.conrelid::regclass::text AS "table", f.confrelid::regclass::text AS target,
       (SELECT string_agg(a.attname, ', ' ORDER BY k.place)
        FROM unnest(f.conkey) WITH ORDINALITY k(number, place)
        JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.number) AS columns
FROM pg_constraint f
WHERE f.contype = 'f' AND f.connamespace = 'public'::regnamespace AND f.conparentid = 0
ORDER BY 1, 2, 3
"""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `marks` are PK and FK."""

    name: str
    type: str
    is_nullable: bool
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table with its columns, as the catalogue describes it."""

    name: str
    table_class: str
    about: str
    partition_key: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """A line of the diagram from a table to the one that it refers to."""

    table: str
    target: str
    columns: str
    is_enforced: bool


async def read_schema(
    connection: "asyncpg.Connection[asyncpg.Record]",
) -> tuple[dict[str, Table], tuple[Reference, ...]]:
    """All tables by name, and the references between them."""
    columns: dict[str, list[Column]] = {}
    for row in await connection.fetch(COLUMNS):
        marks = tuple(
            mark for mark, has_mark in (("PK", row["is_key"]), ("FK", row["is_foreign"])) if has_mark
        )
        columns.setdefault(row["table"], []).append(
            Column(row["name"], row["type"], row["is_nullable"], marks)
        )
    tables = {}
    for row in await connection.fetch(TABLES):
        table_class, _, about = (row["about"] or "").removeprefix("class: ").partition(". ")
        tables[row["name"]] = Table(
            row["name"], table_class, about, row["partition_key"], tuple(columns[row["name"]])
        )
    keys = [
        Reference(row["table"], row["target"], row["columns"], is_enforced=True)
        for row in await connection.fetch(FOREIGN_KEYS)
    ]
    return tables, tuple(sorted([*keys, *_unenforced_references(tables, keys)]))


def _unenforced_references(tables: dict[str, Table], keys: Sequence[Reference]) -> list[Reference]:
    """References by the names of columns: to posts, channels, files and tenants,
    where no foreign key says so.
    """
    enforced = {(key.table, key.target) for key in keys}
    targets = {
        "posts": {"channel_id", "message_id"},
        "channels": {"channel_id"},
        "media_objects": {"sha256"},
        "tenants": {"tenant_id"},
    }
    references = []
    for table in tables.values():
        names = {column.name for column in table.columns}
        for target, needed in targets.items():
            refers = needed <= names and target != table.name and (table.name, target) not in enforced
            if refers and not (target == "channels" and targets["posts"] <= names and table.name != "posts"):
                references.append(Reference(table.name, target, ", ".join(sorted(needed)), is_enforced=False))
    return references


def draw_page(tables: dict[str, Table], references: Sequence[Reference]) -> str:
    """The text of docs/schema.md.

    ValueError when a table belongs to no subject, or a subject names a table that does not exist.
    """
    placed = [name for names in SUBJECTS.values() for name in names]
    if sorted(placed) != sorted(tables):
        raise ValueError(f"SUBJECTS and the database differ in {sorted(set(placed) ^ set(tables))}")
    return (
        HEAD
        + _draw_contents()
        + "".join(_draw_subject(subject, names, tables, references) for subject, names in SUBJECTS.items())
    )


def _draw_contents() -> str:
    """A link to each subject, with the number of its tables."""
    links = [
        f"- [{subject}](#{subject.lower().replace(' ', '-')}): {len(names)} tables"
        for subject, names in SUBJECTS.items()
    ]
    return "\n" + "\n".join(links) + "\n"


def _draw_subject(
    subject: str, names: Sequence[str], tables: dict[str, Table], references: Sequence[Reference]
) -> str:
    lines = ["", f"## {subject}", "", "| table | class | holds |", "|---|---|---|"]
    for name in names:
        table = tables[name]
        partitioned = f" Partitioned by {table.partition_key}." if table.partition_key else ""
        lines.append(f"| `{name}` | {table.table_class} | {table.about}{partitioned} |")
    lines += ["", "```mermaid", "erDiagram"]
    for reference in references:
        if reference.table in names:
            line = "--" if reference.is_enforced else ".."
            lines.append(f'    {reference.target} ||{line}o{{ {reference.table} : "{reference.columns}"')
    for name in names:
        lines += [f"    {name} {{", *(_draw_column(column) for column in tables[name].columns), "    }"]
    return "\n".join([*lines, "```", ""])


def _draw_column(column: Column) -> str:
    """Mermaid takes types without spaces, brackets and quotes only."""
    kind = (
        column.type.replace("timestamp with time zone", "timestamptz")
        .replace(" ", "_")
        .replace("[]", "_array")
        .replace('"', "")
    )
    marks = f" {', '.join(column.marks)}" if column.marks else ""
    return f"        {kind} {column.name}{marks}" + (' "may be null"' if column.is_nullable else "")


async def main() -> None:
    connection = await asyncpg.connect(os.environ["DATABASE_ADMIN_URL"])
    try:
        SCHEMA_PAGE.write_text(draw_page(*await read_schema(connection)), encoding="utf-8")
    finally:
        await connection.close()


if __name__ == "__main__":
    asyncio.run(main())
