"""Lets alerts go on when the stage `stories` does not: the outbox knows since when a post waits."""

from alembic import op

revision = "0062"
down_revision = "0061"


def upgrade() -> None:
    """The index finds what is announced among millions of rows of history that wait."""
    op.execute("ALTER TABLE outbox ADD COLUMN progressed_at timestamptz, ADD COLUMN released_at timestamptz")
    op.execute("COMMENT ON COLUMN outbox.progressed_at IS 'When a branch of the pipeline last ended.'")
    op.execute("COMMENT ON COLUMN outbox.released_at IS 'When alerts stopped waiting for the stage stories.'")
    op.execute("CREATE INDEX outbox_announced ON outbox (announced_at) WHERE (announced_at IS NOT NULL)")
