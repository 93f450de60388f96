"""When channels are read, what is still to be read of their past, and what people asked for."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    schedule()
    reading()
    wishes()


def schedule() -> None:
    op.execute(
        """
        ALTER TABLE poll_schedule
            ADD claimed boolean NOT NULL DEFAULT false,
            ADD observed_since timestamptz,
            ADD failed_at timestamptz,
            ADD asked_at timestamptz,
            ADD asked_mode text
        """
    )
    op.execute("ALTER TABLE poll_schedule ALTER next_poll_at SET DEFAULT 'infinity'")  # due once somebody subscribes
    op.execute("ALTER TABLE coverage ADD floor_at timestamptz")
    op.execute("COMMENT ON COLUMN coverage.floor_at IS 'The moment that the floor stands for: everything since then is wanted.'")
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
    op.execute(
        """
        CREATE TABLE account_plans (
            account_id bigint PRIMARY KEY REFERENCES telegram_accounts ON DELETE CASCADE,
            channels int NOT NULL,
            requests_per_second real NOT NULL,
            price double precision NOT NULL,
            trim real NOT NULL,
            longest_seconds real NOT NULL,
            planned_at timestamptz NOT NULL
        )
        """
    )
    system_table("account_plans", "What a poll must be worth for each account, so that its requests suffice for all its channels.")


def reading() -> None:
    # What is landed together is kept together; nothing has been written into this table so far.
    op.execute("ALTER TABLE post_raw RENAME message_id TO first_id")
    op.execute("ALTER TABLE post_raw ADD last_id bigint NOT NULL")
    op.execute("ALTER TABLE account_channels ADD lost_at timestamptz, ADD lost_reason text")
    op.execute(
        """
        CREATE TABLE backfills (
            backfill_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            channel_id bigint NOT NULL REFERENCES channels ON DELETE CASCADE,
            account_id bigint REFERENCES telegram_accounts ON DELETE SET NULL,
            requested_by bigint NOT NULL DEFAULT 0,
            kind text NOT NULL CHECK (kind IN ('history', 'gap', 'verify', 'silence')),
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
    op.execute("CREATE UNIQUE INDEX backfills_open ON backfills (channel_id) WHERE state = 'open'")
    op.execute("CREATE INDEX backfills_due ON backfills (account_id, next_try_at) WHERE state = 'open'")
    system_table("backfills", "Channels whose past is being read: to a new depth, into a gap, or once more to be sure.")


def wishes() -> None:
    op.execute(
        """
        CREATE TABLE channel_wishes (
            wish_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            account_id bigint REFERENCES telegram_accounts ON DELETE CASCADE,
            kind text NOT NULL CHECK (kind IN ('username', 'invite', 'dialogs')),
            reference text NOT NULL,
            subscription jsonb,
            state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'failed')),
            channel_id bigint,
            answer text,
            next_try_at timestamptz NOT NULL DEFAULT now(),
            created_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    op.execute("CREATE INDEX channel_wishes_due ON channel_wishes (account_id, next_try_at) WHERE state = 'open'")
    system_table("channel_wishes", "Channels that somebody wants and an account must find first: a name, an invitation, its own list.")
