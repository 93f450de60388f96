"""Records of channels, counted for each tenant from the posts that it sees; alerts by the time of events."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import beside_posts, tenant_table

revision = "0070"
down_revision = "0069"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE channel_records (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            since timestamptz NOT NULL,
            counted_at timestamptz NOT NULL,
            posts integer NOT NULL,
            stories integer NOT NULL,
            first integer NOT NULL,
            forwarded integer NOT NULL,
            copied integer NOT NULL,
            corrected integer NOT NULL,
            edited integer NOT NULL,
            deleted integer NOT NULL,
            denied integer NOT NULL,
            PRIMARY KEY (tenant_id, channel_id)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE channel_record_posts (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            fact text NOT NULL,
            message_id bigint NOT NULL,
            other_channel_id bigint,
            other_message_id bigint,
            PRIMARY KEY (tenant_id, channel_id, fact, message_id)
        )
        """
    )
    tenant_table(
        "channel_records",
        "What channels were first with, took from others, corrected, changed and deleted.",
        "SELECT, INSERT, DELETE",
    )
    tenant_table(
        "channel_record_posts",
        "The posts behind numbers of channel_records that no other table names.",
        "SELECT, INSERT, DELETE",
        rows=beside_posts("channel_record_posts"),
    )
    op.execute("CREATE INDEX alerts_event ON alerts (tenant_id, happened_at DESC, alert_id DESC)")
