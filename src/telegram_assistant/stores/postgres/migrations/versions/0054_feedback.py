"""People's feedback about stories: more of it, less of it, none of it; and the interests that were learnt
from it.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import person_table

revision = "0054"
down_revision = "0053"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE feedback (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            user_id bigint NOT NULL DEFAULT current_person() REFERENCES users ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            feedback text NOT NULL,
            headline text NOT NULL,
            topics text[] NOT NULL DEFAULT '{}',
            said_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, user_id, channel_id, message_id, feedback)
        )
        """
    )
    person_table(
        "feedback",
        "What a person said about a story, by one of its posts, or about a post.",
        "SELECT, INSERT, UPDATE, DELETE",
    )
    op.execute("COMMENT ON COLUMN feedback.topics IS 'The interests that were learnt from it.'")
