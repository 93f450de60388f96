"""Posts that a tenant took out of their stories: it is shown each of them alone."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import beside_posts, tenant_table

revision = "0065"
down_revision = "0064"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE posts_apart (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            taken_out_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, channel_id, message_id)
        )
        """
    )
    tenant_table(
        "posts_apart",
        "Posts that a tenant took out of their stories.",
        "SELECT, INSERT, DELETE",
        rows=beside_posts("posts_apart"),
    )
