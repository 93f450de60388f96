"""A key remembers the keys that it was made with: it dies with each of them."""

from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    # Looked up at every authentication, so it is a list and no chain, and short. Keys that exist already have no parent.
    op.execute("ALTER TABLE api_keys ADD ancestors uuid[] NOT NULL DEFAULT '{}' CHECK (cardinality(ancestors) <= 8)")
    op.execute("COMMENT ON COLUMN api_keys.ancestors IS 'The keys that it was made with, the first one first; its parent is the last.'")
    op.execute("GRANT SELECT (ancestors) ON api_keys TO tga_tenant")
