"""Alerts about followed stories reach the receivers of their person."""

from alembic import op

revision = "0073"
down_revision = "0072"


def upgrade() -> None:
    op.execute(
        """
        ALTER TABLE deliveries DROP CONSTRAINT deliveries_check1,
            ADD CONSTRAINT deliveries_digest_of_person CHECK (digest_id IS NULL OR user_id IS NOT NULL)
        """
    )
    op.execute(
        "COMMENT ON COLUMN deliveries.user_id IS 'Whose digest it is, or whose alert about a followed story.'"
    )
