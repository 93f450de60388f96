"""How many earlier posts share enough terms with a post:
a post that comes late may belong among those that it is compared with.
"""

from alembic import op

revision = "0048"
down_revision = "0047"


def upgrade() -> None:
    op.execute("ALTER TABLE post_terms ADD COLUMN found int NOT NULL DEFAULT 0")
    op.execute(
        "COMMENT ON COLUMN post_terms.found IS 'Earlier public posts that share enough terms with it; "
        "the best of them are compared.'"
    )
