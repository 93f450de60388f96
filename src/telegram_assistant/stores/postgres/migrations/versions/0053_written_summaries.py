"""Summaries of stories that a provider has written from posts that a tenant sees."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import tenant_table

revision = "0053"
down_revision = "0052"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE written_summaries (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            material bytea NOT NULL,
            content jsonb NOT NULL,
            written_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, material)
        )
        """
    )
    op.execute("CREATE INDEX written_summaries_oldest ON written_summaries (written_at)")
    tenant_table(
        "written_summaries",
        "What a provider wrote about a story, and what code left out of it.",
        "SELECT, INSERT",
    )
    op.execute(
        "COMMENT ON COLUMN written_summaries.material IS 'Hash of the posts that were sent, their texts, "
        "their language and the prompt.'"
    )
