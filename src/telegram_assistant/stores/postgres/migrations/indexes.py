"""Indexes on partitioned tables without stopping the writers."""

from alembic import op


def add_index(table: str, name: str, definition: str) -> None:
    """Index every partition CONCURRENTLY, then attach them to one index of the parent.

    `definition` is what follows the table's name, like "(channel_id) WHERE deleted_at IS NULL". PostgreSQL
    cannot build an index of a partitioned table concurrently by itself. May be run again after it was
    interrupted.
    """
    partitions = [row[0] for row in op.get_bind().exec_driver_sql(_PARTITIONS, (table,))]
    with op.get_context().autocommit_block():
        op.execute(f"CREATE INDEX IF NOT EXISTS {name} ON ONLY {table} {definition}")
        for partition in partitions:
            part = f"{name}_{partition.removeprefix(f'{table}_')}"
            if _is_invalid(part):
                op.execute(f"DROP INDEX CONCURRENTLY {part}")
            op.execute(f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {part} ON {partition} {definition}")
            op.execute(f"ALTER INDEX {name} ATTACH PARTITION {part}")


_PARTITIONS = """
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = to_regclass($1::text) ORDER BY c.relname
"""


def _is_invalid(index: str) -> bool:
    """Whether an interrupted concurrent build left the index invalid: queries ignore it,
    writes still maintain it.
    """
    query = "SELECT NOT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1::text)"
    return bool(op.get_bind().exec_driver_sql(query, (index,)).scalar())
