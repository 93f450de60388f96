"""How strictly a tenant's stories are grouped, and an index that finds its recent stories."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.indexes import add_index

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE tenants ADD COLUMN story_grouping text NOT NULL DEFAULT 'normal'
            CHECK (story_grouping IN ('loose', 'normal', 'strict'))
        """
    )
    op.execute(
        "COMMENT ON COLUMN tenants.story_grouping IS 'How sure a link must be to hold two posts of a story "
        "together.'"
    )
    op.execute("GRANT UPDATE (story_grouping) ON tenants TO tga_tenant")
    add_index(
        "story_posts",
        "story_posts_linked",
        "(channel_id, posted_at DESC) INCLUDE (story_id) WHERE (link IS NOT NULL)",
    )
