"""Marks of people on stories, and alerts that belong to one person."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import person_table

revision = "0068"
down_revision = "0067"


def upgrade() -> None:
    story_marks()
    alerts_of_people()


def story_marks() -> None:
    op.execute(
        """
        CREATE TABLE story_marks (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            user_id bigint NOT NULL DEFAULT current_person() REFERENCES users ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            mark text NOT NULL,
            headline text NOT NULL,
            marked_at timestamptz NOT NULL DEFAULT now(),
            looked_at timestamptz,
            PRIMARY KEY (tenant_id, user_id, channel_id, message_id, mark)
        )
        """
    )
    op.execute("CREATE INDEX story_marks_newest ON story_marks (tenant_id, user_id, marked_at)")
    op.execute(
        "CREATE INDEX story_marks_followed ON story_marks (channel_id, message_id) WHERE (mark = 'followed')"
    )
    person_table(
        "story_marks",
        "Stories that a person saved, follows or is done with, by one of their posts.",
        "SELECT, INSERT, DELETE",
        "UPDATE (marked_at)",
    )
    op.execute(
        "COMMENT ON COLUMN story_marks.looked_at IS 'Of a followed story: its change after which it was last "
        "looked at.'"
    )


def alerts_of_people() -> None:
    """Code from before this step reads alerts with their watch, so it never sees one that has none."""
    op.execute("ALTER TABLE alerts ADD COLUMN user_id bigint REFERENCES users ON DELETE CASCADE")
    op.execute("ALTER TABLE alerts ALTER COLUMN watch_id DROP NOT NULL")
    op.execute("ALTER TABLE alerts DROP CONSTRAINT alerts_kind_check")
    op.execute(
        """
        ALTER TABLE alerts ADD CONSTRAINT alerts_kind_check CHECK (kind IN ('posted', 'mentioned', 'edited',
            'deleted', 'silent', 'grown', 'followed') AND (kind = 'followed') = (user_id IS NOT NULL))
        """
    )
    op.execute(
        "CREATE UNIQUE INDEX alerts_of_person ON alerts (tenant_id, user_id, subject) "
        "WHERE (user_id IS NOT NULL)"
    )
    op.execute("DROP POLICY own ON alerts")
    rows = "tenant_id = (SELECT current_tenant()) AND (user_id IS NULL OR user_id = (SELECT current_actor()))"
    op.execute(f"CREATE POLICY own ON alerts TO tga_tenant USING ({rows}) WITH CHECK ({rows})")
    op.execute("COMMENT ON COLUMN alerts.watch_id IS 'Null: an alert about a story that a person follows.'")
    op.execute("COMMENT ON COLUMN alerts.user_id IS 'Whom it is for. Null: everybody in the tenant.'")
