"""Channels that are read by their public previews, where no account can open them."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import subscribed_table, system_table

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    # A ledger of its own: what previews prove is never taken for what an account has proven.
    op.execute(
        """
        CREATE TABLE preview_coverage (
            channel_id bigint PRIMARY KEY REFERENCES channels ON DELETE CASCADE,
            floor_id bigint NOT NULL,
            floor_at timestamptz,
            verified int8multirange COMPRESSION lz4 NOT NULL,
            verified_at timestamptz NOT NULL
        ) WITH (fillfactor = 70)
        """
    )
    subscribed_table("preview_coverage", "Which message ids public previews have shown, as long as no account reads the channel.")
    op.execute(
        """
        CREATE TABLE preview_reader (
            is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
            lease_owner text,
            lease_epoch bigint NOT NULL DEFAULT 0,
            lease_until timestamptz NOT NULL DEFAULT '-infinity',
            next_request_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    op.execute("INSERT INTO preview_reader DEFAULT VALUES")
    system_table("preview_reader", "One row: which process reads previews, and when the next page may be asked for.")
