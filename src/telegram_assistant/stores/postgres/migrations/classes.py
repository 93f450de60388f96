"""The row-level security class of a table: every table has one class, named in its comment.

    tenant       has tenant_id; a tenant sees its own rows
    person       has tenant_id and user_id; a tenant sees the rows of the person it works for
    subscribed   has channel_id; a tenant sees the rows of channels it actively subscribes to
    system       a tenant sees nothing

In a subscribed table about posts a tenant sees only the rows in its own window (`within_window`,
`beside_posts`): older rows are stored because other tenants requested them.

The catalogue test reads the comment, and fails for a table without a class or without a window.
"""

from alembic import op

_OWN_ROWS = "tenant_id = (SELECT current_tenant())"
_ROWS_OF_PERSON = f"{_OWN_ROWS} AND user_id = (SELECT current_person())"
# OFFSET 0 keeps this one index probe per row. Without it the planner may hash all of the tenant's
# subscriptions, once per partition: the first feed page of a tenant with 20,000 channels took 150 ms instead
# of 50, one with 500 took 8 instead of 4.
_SUBSCRIBED_ROWS = """
EXISTS (SELECT 1 FROM subscriptions s
        WHERE s.tenant_id = (SELECT current_tenant()) AND s.channel_id = {table}.channel_id
            AND s.active OFFSET 0)
"""

_WITHIN_WINDOW = """
EXISTS (SELECT 1 FROM subscriptions s
        WHERE s.tenant_id = (SELECT current_tenant()) AND s.channel_id = {table}.channel_id AND s.active
            AND {condition} OFFSET 0)
"""
# The probe of posts is itself under row-level security.
_BESIDE_POST = """
EXISTS (SELECT 1 FROM posts p WHERE p.channel_id = {table}.channel_id
    AND p.message_id = {table}.message_id OFFSET 0)
"""


def tenant_table(table: str, about: str, *grants: str, rows: str | None = None) -> None:
    """`grants` are the tenant's rights on its own rows, like "SELECT" or "UPDATE (folder)".

    `rows` limits a tenant to less than all its own rows.
    """
    _isolate(table, "tenant", about)
    _let_tenants(table, f"{_OWN_ROWS} AND {rows}" if rows else _OWN_ROWS, grants)


def person_table(table: str, about: str, *grants: str) -> None:
    """Like `tenant_table`, for rows of one person in a tenant."""
    _isolate(table, "person", about)
    _let_tenants(table, _ROWS_OF_PERSON, grants)


def subscribed_table(table: str, about: str, *, rows: str | None = None) -> None:
    """Read-only for tenants: ingest and the workers write the rows.

    `rows` limits a tenant to less than all rows of its channels.
    """
    _isolate(table, "subscribed", about)
    _let_tenants(table, rows or _SUBSCRIBED_ROWS.format(table=table), ("SELECT",))


def within_window(table: str, condition: str) -> str:
    """The rows of a tenant's channels for which `condition` holds;
    the condition may use its subscription `s`.
    """
    return _WITHIN_WINDOW.format(table=table, condition=condition)


def beside_posts(table: str, *, noticed_text: str | None = None) -> str:
    """The rows whose post a tenant sees.

    If `noticed` names a time column, only rows since it follows the channel.
    """
    condition_sql = _BESIDE_POST.format(table=table)
    return (
        f"{within_window(table, f'{table}.{noticed_text} >= s.created_at')} AND {condition_sql}"
        if noticed_text
        else condition_sql
    )


def system_table(table: str, about: str, *, system_may: str = "SELECT, INSERT, UPDATE, DELETE") -> None:
    _isolate(table, "system", about, system_may=system_may)


def _isolate(
    table: str, table_class: str, about: str, *, system_may: str = "SELECT, INSERT, UPDATE, DELETE"
) -> None:
    op.execute(f"COMMENT ON TABLE {table} IS 'class: {table_class}. {about}'")
    op.execute(f"REVOKE ALL ON {table} FROM PUBLIC")
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"GRANT {system_may} ON {table} TO tga_system")
    op.execute(f"CREATE POLICY everything ON {table} TO tga_system, tga_owner USING (true) WITH CHECK (true)")


def _let_tenants(table: str, rows: str, grants: tuple[str, ...]) -> None:
    op.execute(f"CREATE POLICY own ON {table} TO tga_tenant USING ({rows}) WITH CHECK ({rows})")
    for grant in grants:
        op.execute(f"GRANT {grant} ON {table} TO tga_tenant")


def by_channel(table: str, partition_count: int = 16) -> None:
    """Creates the hash partitions of a table about posts; all such tables have the same ones,
    so that they can move together.
    """
    for number in range(partition_count):
        op.execute(
            f"CREATE TABLE {table}_p{number:02} PARTITION OF {table} FOR VALUES "
            f"WITH (MODULUS {partition_count}, REMAINDER {number})"
        )


def autovacuum_inserts(table: str, partition_count: int = 16) -> None:
    """Keeps the visibility map fresh on tables that mostly grow, because index-only scans depend on it."""
    for number in range(partition_count):
        op.execute(f"ALTER TABLE {table}_p{number:02} SET (autovacuum_vacuum_insert_scale_factor = 0.02)")
