"""Functions about partitions and dead letters."""

from alembic import op


def create() -> None:
    drop_partitions()
    make_partition()
    find_dead_letter()
    list_dead_letters()
    remove_dead_letter()


def drop_partitions() -> None:
    """Like `make_partition`:
    it runs as the owner and touches only partitions of tables that are cut by time.
    """
    op.execute(
        r"""
        CREATE FUNCTION drop_partitions(parent text, older_than timestamptz) RETURNS text[]
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp' SET lock_timeout TO '5s'
            SET "TimeZone" TO 'UTC'
        AS $$
            DECLARE
                old record;
                dropped text[] := '{}';
            BEGIN
                FOR old IN
                    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                    JOIN pg_partitioned_table t ON t.partrelid = i.inhparent AND t.partstrat = 'r'
                    WHERE i.inhparent = to_regclass(quote_ident(parent)) AND c.relname <> parent || '_rest'
                      AND substring(pg_get_expr(c.relpartbound, c.oid)
                            FROM $re$TO \('([^']+)'\)$re$)::timestamptz <= older_than
                    ORDER BY c.relname
                LOOP
                    EXECUTE format('DROP TABLE %I', old.relname);
                    dropped := dropped || old.relname::text;
                END LOOP;
                RETURN dropped;
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION drop_partitions FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION drop_partitions TO tga_system")


def make_partition() -> None:
    """tga_system may not create tables.

    This function runs as the owner and touches only partitions of tables that are cut by time.
    """
    op.execute(
        """
        CREATE FUNCTION make_partition(parent text, begins timestamptz, ends timestamptz) RETURNS text
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp' SET lock_timeout TO '5s'
            SET "TimeZone" TO 'UTC'
        AS $$
            DECLARE
                name text := parent || to_char(begins, '"_"YYYY"_"MM');
                rest text := parent || '_rest';
                cut_by text := (SELECT a.attname FROM pg_partitioned_table t
                    JOIN pg_attribute a ON a.attrelid = t.partrelid AND
                    a.attnum = t.partattrs[0]
                                WHERE t.partrelid = to_regclass(quote_ident(parent)) AND t.partstrat = 'r');
            BEGIN
                IF cut_by IS NULL THEN
                    RAISE EXCEPTION 'table % is not cut by time', parent;
                END IF;
                IF to_regclass(quote_ident(name)) IS NOT NULL THEN
                    RETURN NULL;
                END IF;
                EXECUTE format(
                    'CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION)',
                    name, parent);
                -- Rows that came before their partition wait in the rest; a partition cannot be attached over
                -- them.
                EXECUTE format('WITH early AS (DELETE FROM %I WHERE %I >= $1 AND %I < $2 RETURNING *) """
        """INSERT INTO %I SELECT * FROM early',
                               rest, cut_by, cut_by, name) USING begins, ends;
                EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent,
                    name, begins, ends);
                RETURN name;
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION make_partition FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION make_partition TO tga_system")


def find_dead_letter() -> None:
    op.execute(
        """
        CREATE FUNCTION find_dead_letter(number bigint) RETURNS SETOF dead_letters
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$ SELECT * FROM dead_letters WHERE dead_letter_id = number $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION find_dead_letter FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION find_dead_letter TO tga_system, tga_api")


def list_dead_letters() -> None:
    op.execute(
        """
        CREATE FUNCTION list_dead_letters(only_stage text, before bigint,
            most integer) RETURNS SETOF dead_letters
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            SELECT * FROM dead_letters WHERE (only_stage IS NULL OR stage = only_stage)
                AND (before IS NULL OR dead_letter_id < before)
            ORDER BY dead_letter_id DESC LIMIT most
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION list_dead_letters FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION list_dead_letters TO tga_system, tga_api")


def remove_dead_letter() -> None:
    """A revision that is given up is not announced again."""
    op.execute(
        """
        CREATE FUNCTION remove_dead_letter(number bigint, given_up_revision integer) RETURNS void
        LANGUAGE sql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            WITH removed AS (DELETE FROM dead_letters WHERE dead_letter_id = number
                RETURNING channel_id, message_id)
            DELETE FROM outbox o USING removed r
            WHERE o.channel_id = r.channel_id AND o.message_id = r.message_id
                AND o.revision <= given_up_revision
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION remove_dead_letter FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION remove_dead_letter TO tga_system, tga_api")
