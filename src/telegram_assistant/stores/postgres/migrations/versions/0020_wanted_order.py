"""What a provider shall do later is ordered by when posts were published: news before history."""

from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE provider_wanted
            ADD COLUMN posted_at timestamptz NOT NULL DEFAULT now(),
            ADD COLUMN is_set_aside boolean NOT NULL DEFAULT false
        """
    )
    op.execute("COMMENT ON COLUMN provider_wanted.is_set_aside IS 'It waits for money, or fails by itself: history does not wait for it.'")
    op.execute(
        """
        UPDATE provider_wanted w SET posted_at = p.posted_at
        FROM posts p WHERE p.channel_id = w.channel_id AND p.message_id = w.message_id
        """
    )
    op.execute("CREATE INDEX provider_wanted_order ON provider_wanted (work, posted_at DESC)")
    op.execute("DROP INDEX provider_wanted_newest")
