"""The outbox keeps which branches have ended, so that the pipeline alone says how many there are."""

from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    op.execute("ALTER TABLE outbox RENAME awaits TO ended_branches")
    op.execute("ALTER TABLE outbox ALTER ended_branches SET DEFAULT 0")
    op.execute("UPDATE outbox SET ended_branches = 3 & ~ended_branches")
    op.execute("COMMENT ON COLUMN outbox.ended_branches IS 'One bit for each branch of the pipeline that has ended.'")
