"""What an edit changed is stored beside the earlier version, so that nobody who reads it pays for comparing."""

from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.execute("ALTER TABLE post_versions ADD COLUMN difference int[]")
    op.execute("COMMENT ON COLUMN post_versions.difference IS 'Characters kept, removed and added, in turn, from this text to the next one.'")
