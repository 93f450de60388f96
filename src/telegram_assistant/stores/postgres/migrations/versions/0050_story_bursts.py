"""Which posts of a story end half an hour in which many channels told it:
the index in which a tenant's trends are found.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.indexes import add_index

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    op.execute("ALTER TABLE story_posts ADD COLUMN is_bursting boolean NOT NULL DEFAULT false")
    op.execute(
        "COMMENT ON COLUMN story_posts.is_bursting IS 'Five channels, whoever follows them, "
        "told the story in the half hour that ends with it.'"
    )
    add_index(
        "story_posts",
        "story_posts_bursting",
        "(channel_id, posted_at DESC) INCLUDE (story_id) WHERE (is_bursting)",
    )
