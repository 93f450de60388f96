"""What is on its way, and what keeps the house in order: outbox, dead letters, job runs, partitions."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    delivery()
    upkeep()


def delivery() -> None:
    op.execute(
        """
        CREATE TABLE outbox (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            revision int NOT NULL,
            lane text NOT NULL DEFAULT 'live',
            requested_by bigint NOT NULL DEFAULT 0,
            created_at timestamptz NOT NULL DEFAULT now(),
            announced_at timestamptz,
            attempts smallint NOT NULL DEFAULT 0
        ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0)
        """
    )
    # Not unique: the same revision announced twice is one event, and a unique index costs landing a tenth.
    op.execute("CREATE INDEX outbox_post ON outbox (channel_id, message_id)")
    op.execute("CREATE INDEX outbox_live ON outbox (created_at) WHERE announced_at IS NULL AND lane = 'live'")
    op.execute("CREATE INDEX outbox_bulk ON outbox (requested_by, created_at) WHERE announced_at IS NULL AND lane = 'bulk'")
    op.execute("CREATE INDEX outbox_bulk_announced ON outbox (announced_at) WHERE announced_at IS NOT NULL AND lane = 'bulk'")
    system_table("outbox", "Post revisions that have not passed the pipeline yet: the announcement queue and the not-yet-done list at once.")
    op.execute(
        """
        CREATE TABLE stream_epoch (
            only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
            epoch text NOT NULL,
            run_id text NOT NULL
        )
        """
    )
    system_table("stream_epoch", "Which Redis the streams were last filled under; one row.")
    op.execute(
        """
        CREATE TABLE dead_letters (
            dead_letter_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            stage text NOT NULL,
            stream text NOT NULL,
            entry_id text NOT NULL,
            channel_id bigint,
            message_id bigint,
            payload bytea NOT NULL,
            reason text NOT NULL,
            traceback text,
            attempts int NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            UNIQUE (stage, stream, entry_id)
        )
        """
    )
    op.execute("CREATE INDEX dead_letters_post ON dead_letters (channel_id, message_id)")
    system_table("dead_letters", "Events that a stage could not process, with the reason.")


def upkeep() -> None:
    op.execute(
        """
        CREATE TABLE job_runs (
            job text NOT NULL,
            period_start timestamptz NOT NULL,
            instance text NOT NULL,
            lease_until timestamptz NOT NULL,
            started_at timestamptz NOT NULL DEFAULT now(),
            finished_at timestamptz,
            error text,
            PRIMARY KEY (job, period_start)
        )
        """
    )
    system_table("job_runs", "Which periodic job ran for which period: claimed once across all replicas.")
    # tga_system may not create tables. These two functions, which run as the owner, are all it gets: they touch
    # nothing but partitions of tables that are cut by time.
    op.execute(
        """
        CREATE FUNCTION make_partition(parent text, begins timestamptz, ends timestamptz) RETURNS text
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '5s' SET timezone = 'UTC' AS $$
        DECLARE
            name text := parent || to_char(begins, '"_"YYYY"_"MM');
            rest text := parent || '_rest';
            cut_by text := (SELECT a.attname FROM pg_partitioned_table t JOIN pg_attribute a ON a.attrelid = t.partrelid AND a.attnum = t.partattrs[0]
                            WHERE t.partrelid = to_regclass(quote_ident(parent)) AND t.partstrat = 'r');
        BEGIN
            IF cut_by IS NULL THEN
                RAISE EXCEPTION 'table % is not cut by time', parent;
            END IF;
            IF to_regclass(quote_ident(name)) IS NOT NULL THEN
                RETURN NULL;
            END IF;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION)', name, parent);
            -- Rows that came before their partition wait in the rest; a partition cannot be attached over them.
            EXECUTE format('WITH early AS (DELETE FROM %I WHERE %I >= $1 AND %I < $2 RETURNING *) INSERT INTO %I SELECT * FROM early',
                           rest, cut_by, cut_by, name) USING begins, ends;
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, begins, ends);
            RETURN name;
        END $$
        """
    )
    op.execute(
        """
        CREATE FUNCTION drop_partitions(parent text, older_than timestamptz) RETURNS text[]
        LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '5s' SET timezone = 'UTC' AS $$
        DECLARE
            old record;
            dropped text[] := '{}';
        BEGIN
            FOR old IN
                SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                JOIN pg_partitioned_table t ON t.partrelid = i.inhparent AND t.partstrat = 'r'
                WHERE i.inhparent = to_regclass(quote_ident(parent)) AND c.relname <> parent || '_rest'
                  AND substring(pg_get_expr(c.relpartbound, c.oid) FROM $re$TO \\('([^']+)'\\)$re$)::timestamptz <= older_than
                ORDER BY c.relname
            LOOP
                EXECUTE format('DROP TABLE %I', old.relname);
                dropped := dropped || old.relname::text;
            END LOOP;
            RETURN dropped;
        END $$
        """
    )
    for function in ("make_partition(text, timestamptz, timestamptz)", "drop_partitions(text, timestamptz)"):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO tga_system")
