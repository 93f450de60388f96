"""Albums: several messages that are one post to their reader."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import by_channel, subscribed_table

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE media_groups (
            channel_id bigint NOT NULL,
            grouped_id bigint NOT NULL,
            message_ids bigint[] NOT NULL,
            posted_at timestamptz NOT NULL,
            newest_item_at timestamptz NOT NULL,
            revision int NOT NULL DEFAULT 1,
            closed_at timestamptz,
            PRIMARY KEY (channel_id, grouped_id)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("media_groups")
    op.execute("CREATE INDEX media_groups_open ON media_groups (newest_item_at) WHERE closed_at IS NULL")
    subscribed_table("media_groups", "Albums: which posts belong together, and whether more of them may come.")
