"""How channels are read: the schedule, coverage, backfills and previews."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import subscribed_table, system_table


def create() -> None:
    backfills()
    channel_profiles()
    coverage()
    erasures()
    poll_schedule()
    preview_coverage()
    preview_reader()


def backfills() -> None:
    op.execute(
        """
        CREATE TABLE backfills (
            backfill_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            channel_id bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
            account_id bigint REFERENCES telegram_accounts ON DELETE SET NULL,
            requested_by bigint NOT NULL DEFAULT 0,
            kind text NOT NULL CHECK (kind IN ('history', 'gap', 'verify', 'silence', 'recheck')),
            since timestamptz,
            below bigint,
            state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'failed')),
            next_try_at timestamptz NOT NULL DEFAULT now(),
            lease_owner text,
            lease_epoch bigint NOT NULL DEFAULT 0,
            attempts int NOT NULL DEFAULT 0,
            posts int NOT NULL DEFAULT 0,
            error text,
            created_at timestamptz NOT NULL DEFAULT now(),
            finished_at timestamptz
        )
        """
    )
    op.execute("CREATE INDEX backfills_due ON backfills (account_id, next_try_at) WHERE (state = 'open')")
    op.execute("CREATE UNIQUE INDEX backfills_open ON backfills (channel_id) WHERE (state = 'open')")
    op.execute(
        "CREATE INDEX backfills_unfinished ON backfills (channel_id, backfill_id) WHERE (state <> 'done')"
    )
    system_table(
        "backfills", "Channels whose past is being read: to a new depth, into a gap, or once more to be sure."
    )


def channel_profiles() -> None:
    op.execute(
        """
        CREATE TABLE channel_profiles (
            channel_id bigint PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
            factors real[] NOT NULL,
            made_at timestamptz NOT NULL
        )
        """
    )
    system_table("channel_profiles", "At which hours of the week a channel posts.")


def coverage() -> None:
    op.execute(
        """
        CREATE TABLE coverage (
            channel_id bigint PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
            floor_id bigint NOT NULL,
            verified int8multirange NOT NULL,
            verified_at timestamptz NOT NULL,
            floor_at timestamptz
        ) WITH (fillfactor=70)
        """
    )
    subscribed_table(
        "coverage",
        "Which message ids are proven to be read. A gap is what is missing between the floor and the newest.",
    )
    op.execute(
        "COMMENT ON COLUMN coverage.floor_at IS 'The moment that the floor stands for: "
        "everything since then is wanted.'"
    )


def erasures() -> None:
    op.execute(
        """
        CREATE TABLE erasures (
            channel_id bigint PRIMARY KEY,
            ids int8multirange NOT NULL,
            erased_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    system_table("erasures", "Posts that were erased on request; landing does not bring them back.")


def poll_schedule() -> None:
    op.execute(
        """
        CREATE TABLE poll_schedule (
            channel_id bigint PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
            account_id bigint REFERENCES telegram_accounts ON DELETE SET NULL,
            next_poll_at timestamptz NOT NULL DEFAULT 'infinity'::timestamp with time zone,
            lease_epoch bigint NOT NULL DEFAULT 0,
            last_polled_at timestamptz,
            tier text NOT NULL DEFAULT 'normal',
            weight real NOT NULL DEFAULT 1,
            level real NOT NULL DEFAULT 0,
            level_at timestamptz,
            burst real NOT NULL DEFAULT 0,
            burst_at timestamptz,
            fail_count int NOT NULL DEFAULT 0,
            claimed boolean NOT NULL DEFAULT false,
            observed_since timestamptz,
            failed_at timestamptz,
            asked_at timestamptz,
            asked_mode text,
            rechecked_at timestamptz NOT NULL DEFAULT now()
        ) WITH (fillfactor=70, autovacuum_vacuum_scale_factor=0.02)
        """
    )
    op.execute("CREATE INDEX poll_schedule_due ON poll_schedule (account_id, next_poll_at)")
    system_table("poll_schedule", "When each channel is read next, by which account, under which lease.")


def preview_coverage() -> None:
    """A ledger of its own: what previews prove is never taken for what an account has proven."""
    op.execute(
        """
        CREATE TABLE preview_coverage (
            channel_id bigint PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
            floor_id bigint NOT NULL,
            floor_at timestamptz,
            verified int8multirange NOT NULL,
            verified_at timestamptz NOT NULL
        ) WITH (fillfactor=70)
        """
    )
    subscribed_table(
        "preview_coverage",
        "Which message ids public previews have shown, as long as no account reads the channel.",
    )


def preview_reader() -> None:
    op.execute(
        """
        CREATE TABLE preview_reader (
            is_only boolean DEFAULT true PRIMARY KEY CHECK (is_only),
            lease_owner text,
            lease_epoch bigint NOT NULL DEFAULT 0,
            lease_until timestamptz NOT NULL DEFAULT '-infinity'::timestamp with time zone,
            next_request_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    system_table(
        "preview_reader", "One row: which process reads previews, and when the next page may be asked for."
    )
