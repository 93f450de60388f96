"""Fates of imported lines, requests that are tried again,
and the joined channels that a tenant picks from.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import tenant_table

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    request_kinds()
    request_fates()
    joined_channels()


def request_kinds() -> None:
    op.execute("ALTER TABLE channel_requests DROP CONSTRAINT channel_requests_kind_check")
    op.execute(
        """
        ALTER TABLE channel_requests ADD CONSTRAINT channel_requests_kind_check
            CHECK (kind = ANY (ARRAY['username', 'invite', 'dialogs',
            'list', 'folder', 'access', 'listing', 'pick', 'unreadable']))
        """
    )
    op.execute(
        "CREATE INDEX channel_requests_listings ON channel_requests (account_id, "
        "created_at) WHERE (kind = 'listing')"
    )


def request_fates() -> None:
    """Tenants try their failed requests again, and keep the lines of a list that were answered at once."""
    op.execute("ALTER TABLE channel_requests ADD COLUMN was_followed boolean NOT NULL DEFAULT false")
    op.execute("ALTER TABLE channel_requests ADD COLUMN at_once boolean NOT NULL DEFAULT false")
    op.execute(
        "COMMENT ON COLUMN channel_requests.was_followed IS 'The tenant followed all that was found already.'"
    )
    op.execute(
        "COMMENT ON COLUMN channel_requests.at_once IS 'A line of a list that never waited: "
        "already followed, or not accepted.'"
    )
    op.execute(
        "CREATE UNIQUE INDEX channel_requests_at_once ON channel_requests (tenant_id, kind, "
        "reference_key) WHERE (at_once)"
    )
    op.execute(
        "GRANT INSERT (state, channel_id, outcome, answered_at, was_followed, "
        "at_once) ON channel_requests TO tga_tenant"
    )
    op.execute(
        """
        GRANT UPDATE (state, channel_id, outcome, progress, next_try_at, created_at, answered_at,
            was_followed, at_once), DELETE
        ON channel_requests TO tga_tenant
        """
    )


def joined_channels() -> None:
    op.execute(
        """
        CREATE TABLE joined_channels (
            tenant_id bigint NOT NULL REFERENCES tenants ON DELETE CASCADE,
            channel_id bigint NOT NULL,
            account_id bigint NOT NULL REFERENCES telegram_accounts ON DELETE CASCADE,
            title text NOT NULL,
            username text,
            is_private boolean NOT NULL,
            protected boolean NOT NULL,
            access_hash bigint NOT NULL,
            request_id uuid NOT NULL,
            listed_at timestamptz NOT NULL,
            PRIMARY KEY (tenant_id, channel_id, account_id)
        )
        """
    )
    op.execute("CREATE INDEX joined_channels_account ON joined_channels (account_id)")
    tenant_table(
        "joined_channels",
        "What a tenant''s accounts have joined, when it was last listed, to pick from. "
        "A listed channel is not followed.",
        "SELECT (tenant_id, channel_id, account_id, title, username, is_private, listed_at)",
    )
    op.execute("COMMENT ON COLUMN joined_channels.request_id IS 'The request that listed it last.'")
