"""Lets alerts go on when the stage `stories` does not: the outbox knows since when a post waits."""

from alembic import op

revision = "0062"
down_revision = "0061"


def upgrade() -> None:
    op.execute("ALTER TABLE outbox ADD COLUMN progressed_at timestamptz, ADD COLUMN overtaken_at timestamptz")
    op.execute("COMMENT ON COLUMN outbox.progressed_at IS 'When a branch of the pipeline last ended.'")
    op.execute("COMMENT ON COLUMN outbox.overtaken_at IS 'When the stage alerts was told not to wait for the stage stories.'")
