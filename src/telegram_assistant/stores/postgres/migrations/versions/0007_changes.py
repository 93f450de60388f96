"""What became of posts after they were published: who saw which version when, deletions, and how far they reached."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import subscribed_table

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    versions()
    deletions()
    counts()


def versions() -> None:
    # seen_at is empty while the first version stands: that one was seen when the post was stored.
    op.execute("ALTER TABLE posts ADD COLUMN seen_at timestamptz, ADD COLUMN seen_by bigint, ADD COLUMN missed_at timestamptz")
    op.execute("ALTER TABLE post_versions ADD COLUMN seen_at timestamptz, ADD COLUMN seen_by bigint")
    op.execute("CREATE INDEX post_versions_replaced ON post_versions (channel_id, replaced_at DESC)")


def deletions() -> None:
    op.execute("CREATE INDEX posts_deleted ON posts (channel_id, deleted_at DESC) WHERE deleted_at IS NOT NULL")
    op.execute("CREATE INDEX posts_missed ON posts (channel_id, posted_at) WHERE missed_at IS NOT NULL")
    op.execute("ALTER TABLE poll_schedule ADD COLUMN rechecked_at timestamptz NOT NULL DEFAULT now()")
    op.execute("ALTER TABLE backfills DROP CONSTRAINT backfills_kind_check")
    op.execute("ALTER TABLE backfills ADD CONSTRAINT backfills_kind_check CHECK (kind IN ('history', 'gap', 'verify', 'silence', 'recheck'))")


def counts() -> None:
    op.execute(
        """
        CREATE TABLE post_counts (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            seen_at timestamptz NOT NULL,
            views bigint,
            forwards bigint,
            replies bigint,
            reactions jsonb,
            PRIMARY KEY (channel_id, message_id, seen_at)
        ) PARTITION BY RANGE (seen_at)
        """
    )
    op.execute("CREATE TABLE post_counts_rest PARTITION OF post_counts DEFAULT")
    subscribed_table("post_counts", "Views, forwards, comments and reactions of a post, each time they had changed when it was read again.")
