"""Lists of posts and stories with notes, shared by the people of a tenant."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import tenant_table

revision = "0072"
down_revision = "0071"


def upgrade() -> None:
    lists()
    list_items()


def lists() -> None:
    op.execute(
        """
        CREATE TABLE lists (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            list_id uuid NOT NULL DEFAULT gen_random_uuid(),
            name text NOT NULL,
            created_by text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            changed_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, list_id),
            UNIQUE (tenant_id, name)
        )
        """
    )
    tenant_table(
        "lists",
        "Lists of posts and stories that the people of a tenant share.",
        "SELECT, INSERT, DELETE",
        "UPDATE (name, changed_at)",
    )


def list_items() -> None:
    """An item stays when its post is no longer visible: its note is the work of the tenant's people."""
    op.execute(
        """
        CREATE TABLE list_items (
            tenant_id bigint NOT NULL DEFAULT current_tenant(),
            list_id uuid NOT NULL,
            item_id uuid NOT NULL DEFAULT gen_random_uuid(),
            kind text NOT NULL DEFAULT 'post' CHECK (kind IN ('post', 'story')),
            channel_id bigint NOT NULL,
            message bigint NOT NULL,
            place integer NOT NULL DEFAULT 0,
            note text NOT NULL DEFAULT '',
            noted_by text,
            noted_at timestamptz,
            added_by text NOT NULL,
            added_at timestamptz NOT NULL DEFAULT now(),
            removed_at timestamptz,
            PRIMARY KEY (tenant_id, item_id),
            UNIQUE (tenant_id, list_id, kind, channel_id, message),
            FOREIGN KEY (tenant_id, list_id) REFERENCES lists ON DELETE CASCADE
        )
        """
    )
    tenant_table(
        "list_items",
        "Posts and stories on the lists of a tenant, in order, with notes.",
        "SELECT, INSERT, DELETE",
        "UPDATE (place, note, noted_by, noted_at, added_by, added_at, removed_at)",
    )
    op.execute("COMMENT ON COLUMN list_items.channel_id IS 'With message: the post, or one of the story.'")
    op.execute("COMMENT ON COLUMN list_items.removed_at IS 'For a day a removed item can be put back.'")
