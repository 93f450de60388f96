"""Finds whether a watch has told of any post of a story."""

from alembic import op

revision = "0055"
down_revision = "0054"


def upgrade() -> None:
    op.execute("CREATE INDEX alerts_post ON alerts (tenant_id, watch_id, channel_id, message)")
