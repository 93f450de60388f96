"""What is being made anew from PostgreSQL, and how far it is."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE rebuilds (
            projection text PRIMARY KEY,
            wanted_at timestamptz NOT NULL DEFAULT now(),
            owner text,
            leased_until timestamptz NOT NULL DEFAULT '-infinity',
            target text NOT NULL DEFAULT '',
            channel_id bigint NOT NULL DEFAULT 0,
            message_id bigint NOT NULL DEFAULT 0,
            done bigint NOT NULL DEFAULT 0,
            total bigint NOT NULL DEFAULT 0,
            finished_at timestamptz,
            error text NOT NULL DEFAULT ''
        )
        """
    )
    op.execute("COMMENT ON COLUMN rebuilds.target IS 'What is being filled; empty: what is in use.'")
    op.execute("COMMENT ON COLUMN rebuilds.message_id IS 'The last post that was done, with channel_id.'")
    system_table("rebuilds", "Projections that are made anew, one row for each: who does it, under a lease, and how far it is.")
