"""A post has passed the pipeline when every branch of it has ended, not only the longest."""

from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.execute("ALTER TABLE outbox ADD awaits smallint NOT NULL DEFAULT 3")
    op.execute("COMMENT ON COLUMN outbox.awaits IS 'One bit for each branch of the pipeline that has not ended yet.'")
