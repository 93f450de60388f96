"""Files of posts: which there are, what is still to be fetched, what is stored; quotas; and events that wait to be told."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import by_channel, subscribed_table, system_table, tenant_table

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    files()
    queue()
    quotas()
    notices()


def files() -> None:
    op.execute(
        """
        CREATE TABLE post_media (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            ordinal smallint NOT NULL DEFAULT 0,
            media_id bigint NOT NULL,
            kind text NOT NULL,
            mime text,
            size_bytes bigint NOT NULL DEFAULT 0,
            file_name text,
            width int,
            height int,
            duration_seconds double precision,
            dc_id int,
            state text NOT NULL DEFAULT 'wanted' CHECK (state IN ('wanted', 'stored', 'skipped', 'given_up')),
            reason text,
            sha256 bytea,
            settled_at timestamptz,
            PRIMARY KEY (channel_id, message_id, ordinal)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("post_media")
    op.execute("CREATE INDEX post_media_object ON post_media (sha256) WHERE sha256 IS NOT NULL")
    op.execute("CREATE INDEX post_media_skipped ON post_media (channel_id, reason) WHERE state = 'skipped'")
    subscribed_table("post_media", "The files that posts show, and what became of each.")
    op.execute(
        """
        CREATE TABLE media_objects (
            sha256 bytea PRIMARY KEY,
            size_bytes bigint NOT NULL,
            mime text,
            phash bigint,
            reserved_at timestamptz NOT NULL DEFAULT now(),
            removing_at timestamptz
        )
        """
    )
    system_table("media_objects", "The bytes in the store, once. A row is written before its bytes, and goes after them.")
    op.execute("CREATE INDEX media_objects_removing ON media_objects (removing_at) WHERE removing_at IS NOT NULL")
    op.execute(
        """
        CREATE TABLE media_sources (
            media_id bigint NOT NULL,
            is_photo boolean NOT NULL,
            sha256 bytea NOT NULL,
            PRIMARY KEY (media_id, is_photo)
        )
        """
    )
    op.execute("CREATE INDEX media_sources_object ON media_sources (sha256)")
    system_table("media_sources", "Which of Telegram''s files holds which bytes: a file that was forwarded is not fetched again.")


def queue() -> None:
    op.execute(
        """
        CREATE TABLE media_jobs (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            ordinal smallint NOT NULL,
            media_id bigint NOT NULL,
            is_photo boolean NOT NULL,
            size_bytes bigint NOT NULL,
            mime text,
            lane text NOT NULL,
            account_id bigint REFERENCES telegram_accounts ON DELETE SET NULL,
            attempts int NOT NULL DEFAULT 0,
            next_try_at timestamptz NOT NULL DEFAULT now(),
            error text,
            PRIMARY KEY (channel_id, message_id, ordinal)
        )
        """
    )
    op.execute("CREATE INDEX media_jobs_due ON media_jobs (account_id, (lane = 'bulk'), (NOT is_photo), next_try_at)")
    op.execute("CREATE INDEX media_jobs_file ON media_jobs (media_id, is_photo)")
    system_table("media_jobs", "Files that are still to be fetched, and by which account.")


def quotas() -> None:
    op.execute(
        """
        CREATE TABLE quotas (
            tenant_id bigint PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
            media_bytes_limit bigint CHECK (media_bytes_limit >= 0),
            media_bytes bigint NOT NULL DEFAULT 0,
            counted_at timestamptz
        )
        """
    )
    op.execute("COMMENT ON COLUMN quotas.media_bytes_limit IS 'Null: as MEDIA_QUOTA_BYTES says.'")
    op.execute("COMMENT ON COLUMN quotas.media_bytes IS 'Stored or promised, in full for everybody who wants them.'")
    tenant_table("quotas", "How much a tenant may keep, and keeps.", "SELECT")
    op.execute("ALTER TABLE subscriptions ADD keeps_protected boolean NOT NULL DEFAULT false")
    op.execute("COMMENT ON COLUMN subscriptions.keeps_protected IS 'Media are kept although the channel is private or protects its content.'")
    op.execute("GRANT UPDATE (keeps_protected) ON subscriptions TO tga_tenant")


def notices() -> None:
    op.execute(
        """
        CREATE TABLE notices (
            event_id uuid PRIMARY KEY,
            event text NOT NULL,
            lane text NOT NULL,
            channel_id bigint NOT NULL,
            payload text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            announced_at timestamptz
        )
        """
    )
    op.execute("CREATE INDEX notices_waiting ON notices (lane, created_at) WHERE announced_at IS NULL")
    op.execute("CREATE INDEX notices_announced ON notices (announced_at) WHERE announced_at IS NOT NULL")
    system_table("notices", "Events that were written with what they tell of, and go out on the streams; kept for a day.")
