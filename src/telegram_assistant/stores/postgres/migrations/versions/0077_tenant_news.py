"""A counter of each tenant with open pages: whether its channels have got new posts is read from one row."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import tenant_table

revision = "0077"
down_revision = "0076"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE tenant_news (
            tenant_id bigint PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
            arrivals bigint NOT NULL DEFAULT 0,
            awaited_until timestamptz NOT NULL
        ) WITH (fillfactor = 50)
        """
    )
    tenant_table(
        "tenant_news",
        "Tenants with open pages, and how often channels of theirs have got new posts meanwhile.",
        "SELECT, INSERT, UPDATE (arrivals, awaited_until)",
    )
    op.execute(
        "COMMENT ON COLUMN tenant_news.arrivals IS 'Batches of announced posts. Says that something is new, "
        "not how much.'"
    )
    op.execute("COMMENT ON COLUMN tenant_news.awaited_until IS 'Nothing is counted afterwards.'")
