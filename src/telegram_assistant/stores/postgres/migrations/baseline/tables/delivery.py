"""The outbox, notices, dead letters, jobs and rebuilds."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table


def create() -> None:
    dead_letters()
    job_runs()
    notices()
    outbox()
    rebuilds()
    stream_epoch()


def dead_letters() -> None:
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


def job_runs() -> None:
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


def notices() -> None:
    op.execute(
        """
        CREATE TABLE notices (
            event_id uuid PRIMARY KEY,
            event text NOT NULL,
            lane text NOT NULL,
            channel_id bigint NOT NULL,
            payload text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            announced_at timestamptz
        )
        """
    )
    op.execute("CREATE INDEX notices_announced ON notices (announced_at) WHERE (announced_at IS NOT NULL)")
    op.execute("CREATE INDEX notices_waiting ON notices (lane, created_at) WHERE (announced_at IS NULL)")
    system_table(
        "notices",
        "Events that were written with what they tell of, and go out on the streams; kept for a day.",
    )


def outbox() -> None:
    """Not unique: the same revision announced twice is one event,
    and a unique index makes landing a tenth slower.
    """
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
            attempts smallint NOT NULL DEFAULT 0,
            ended_branches smallint NOT NULL DEFAULT 0
        ) WITH (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000,
        autovacuum_vacuum_cost_delay=0)
        """
    )
    op.execute(
        """
        CREATE INDEX outbox_bulk ON outbox (requested_by, created_at)
            WHERE ((announced_at IS NULL) AND (lane = 'bulk'))
        """
    )
    op.execute(
        """
        CREATE INDEX outbox_bulk_announced ON outbox (announced_at)
            WHERE ((announced_at IS NOT NULL) AND (lane = 'bulk'))
        """
    )
    op.execute(
        "CREATE INDEX outbox_live ON outbox (created_at) WHERE ((announced_at IS NULL) AND (lane = 'live'))"
    )
    op.execute("CREATE INDEX outbox_post ON outbox (channel_id, message_id)")
    system_table(
        "outbox",
        "Post revisions that have not passed the pipeline yet: the announcement queue and the not-yet-done "
        "list at once.",
    )
    op.execute(
        "COMMENT ON COLUMN outbox.ended_branches IS 'One bit for each branch of the pipeline that has ended.'"
    )


def rebuilds() -> None:
    op.execute(
        """
        CREATE TABLE rebuilds (
            projection text PRIMARY KEY,
            wanted_at timestamptz NOT NULL DEFAULT now(),
            owner text,
            leased_until timestamptz NOT NULL DEFAULT '-infinity'::timestamp with time zone,
            target text NOT NULL DEFAULT '',
            channel_id bigint NOT NULL DEFAULT 0,
            message_id bigint NOT NULL DEFAULT 0,
            done bigint NOT NULL DEFAULT 0,
            total bigint NOT NULL DEFAULT 0,
            finished_at timestamptz,
            error text NOT NULL DEFAULT '',
            completed_at timestamptz
        )
        """
    )
    system_table(
        "rebuilds",
        "Projections that are made anew, one row for each: who does it, under a lease, and how far it is.",
    )
    op.execute("COMMENT ON COLUMN rebuilds.target IS 'What is being filled; empty: what is in use.'")
    op.execute("COMMENT ON COLUMN rebuilds.message_id IS 'The last post that was done, with channel_id.'")
    op.execute(
        "COMMENT ON COLUMN rebuilds.completed_at IS 'When what is searched last held every post; null: "
        "it may lack some.'"
    )


def stream_epoch() -> None:
    op.execute(
        """
        CREATE TABLE stream_epoch (
            only_row boolean DEFAULT true PRIMARY KEY CHECK (only_row),
            epoch text NOT NULL,
            run_id text NOT NULL
        )
        """
    )
    system_table("stream_epoch", "Which Redis the streams were last filled under; one row.")
