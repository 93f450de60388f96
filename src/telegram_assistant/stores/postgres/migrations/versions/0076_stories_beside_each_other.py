"""Batches are grouped into stories beside each other: which transaction stored the terms of a post, what was
committed when its batch began to look, which posts nobody has grouped yet; and tables of weights by day.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table

revision = "0076"
down_revision = "0075"

BEFORE = "3"
"""Stands for all transactions before this migration."""


def upgrade() -> None:
    puts()
    looks()
    dirty_posts()
    tables_by_day()


def puts() -> None:
    op.execute(f"ALTER TABLE post_terms ADD COLUMN put_xid xid8 NOT NULL DEFAULT '{BEFORE}'::xid8")
    op.execute("ALTER TABLE post_terms ALTER COLUMN put_xid SET DEFAULT pg_current_xact_id()")
    op.execute(
        "COMMENT ON COLUMN post_terms.put_xid IS 'The transaction that stored the terms: the key of "
        "story_looks.'"
    )


def looks() -> None:
    """A look for all that is stored already; it has seen nothing of what is stored from now on."""
    op.execute(
        """
        CREATE TABLE story_looks (
            put_xid xid8 PRIMARY KEY,
            snapshot pg_snapshot NOT NULL,
            last_posted_at timestamptz NOT NULL,
            looked_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    op.execute("CREATE INDEX story_looks_last ON story_looks (last_posted_at)")
    system_table(
        "story_looks",
        "When each batch of posts began to look for the posts that its own are compared with; "
        "kept as long as their terms.",
    )
    op.execute(
        "COMMENT ON COLUMN story_looks.snapshot IS 'What was committed then; the batches of all other "
        "transactions compare their posts with the later ones of this one.'"
    )
    op.execute(
        f"""
        INSERT INTO story_looks (put_xid, snapshot, last_posted_at)
        SELECT '{BEFORE}'::xid8, '{BEFORE}:{BEFORE}:'::pg_snapshot, max(posted_at) FROM post_terms
        HAVING max(posted_at) IS NOT NULL
        """
    )


def dirty_posts() -> None:
    op.execute(
        """
        CREATE TABLE story_dirty (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            is_uncompared boolean NOT NULL,
            written_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    op.execute("CREATE INDEX story_dirty_post ON story_dirty (channel_id, message_id)")
    system_table(
        "story_dirty", "Posts that have lost a link, until their stories are computed again; usually empty."
    )
    op.execute(
        "COMMENT ON COLUMN story_dirty.is_uncompared IS 'Links may be missing: it is compared again, too.'"
    )


def tables_by_day() -> None:
    op.execute("ALTER TABLE term_counts ADD COLUMN day date")
    op.execute("UPDATE term_counts SET day = (made_at AT TIME ZONE 'UTC')::date")
    op.execute("ALTER TABLE term_counts ALTER COLUMN day SET NOT NULL")
    op.execute(
        "COMMENT ON COLUMN term_counts.day IS 'Weighs the posts from this day on, in UTC; "
        "the oldest table older ones, too.'"
    )
    op.execute(
        "COMMENT ON TABLE term_counts IS 'class: system. How many public posts of the last days have a "
        "word: rare words weigh more. Two posts are compared by the table of the later one.'"
    )
