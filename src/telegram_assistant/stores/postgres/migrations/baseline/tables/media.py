"""Files of posts."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import (
    beside_posts,
    by_channel,
    subscribed_table,
    system_table,
)


def create() -> None:
    media_jobs()
    media_objects()
    media_results()
    media_sources()
    post_media()


def media_jobs() -> None:
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
    op.execute(
        "CREATE INDEX media_jobs_due ON media_jobs (account_id, ((lane = 'bulk')), ((NOT is_photo)), "
        "next_try_at)"
    )
    op.execute("CREATE INDEX media_jobs_file ON media_jobs (media_id, is_photo)")
    system_table("media_jobs", "Files that are still to be fetched, and by which account.")


def media_objects() -> None:
    op.execute(
        """
        CREATE TABLE media_objects (
            sha256 bytea PRIMARY KEY,
            size_bytes bigint NOT NULL,
            mime text,
            phash bigint,
            reserved_at timestamptz NOT NULL DEFAULT now(),
            removing_at timestamptz,
            phash_fine bytea
        )
        """
    )
    op.execute(
        "CREATE INDEX media_objects_look_0 ON media_objects ((((phash >> 0) & (65535)::bigint))) WHERE "
        "(phash IS NOT NULL)"
    )
    op.execute(
        "CREATE INDEX media_objects_look_1 ON media_objects ((((phash >> 16) & (65535)::bigint))) WHERE "
        "(phash IS NOT NULL)"
    )
    op.execute(
        "CREATE INDEX media_objects_look_2 ON media_objects ((((phash >> 32) & (65535)::bigint))) WHERE "
        "(phash IS NOT NULL)"
    )
    op.execute(
        "CREATE INDEX media_objects_look_3 ON media_objects ((((phash >> 48) & (65535)::bigint))) WHERE "
        "(phash IS NOT NULL)"
    )
    op.execute(
        "CREATE INDEX media_objects_removing ON media_objects (removing_at) WHERE (removing_at IS NOT NULL)"
    )
    system_table(
        "media_objects",
        "The bytes in the store, once. A row is written before its bytes, and goes after them.",
    )


def media_results() -> None:
    op.execute(
        """
        CREATE TABLE media_results (
            sha256 bytea NOT NULL REFERENCES media_objects ON DELETE CASCADE,
            tier text NOT NULL,
            provider text NOT NULL,
            model text NOT NULL,
            prompt_version text NOT NULL,
            same_as bytea,
            data jsonb NOT NULL,
            made_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (sha256, tier)
        )
        """
    )
    system_table(
        "media_results",
        "What was seen in a file, whichever post shows it. Tenants see it through their posts.",
    )
    op.execute(
        "COMMENT ON COLUMN media_results.same_as IS 'The file with the same picture that was really looked "
        "at.'"
    )


def media_sources() -> None:
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
    system_table(
        "media_sources",
        "Which of Telegram''s files holds which bytes: a file that was forwarded is not fetched again.",
    )


def post_media() -> None:
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
    op.execute("CREATE INDEX post_media_object ON post_media (sha256) WHERE (sha256 IS NOT NULL)")
    op.execute("CREATE INDEX post_media_skipped ON post_media (channel_id, reason) WHERE (state = 'skipped')")
    subscribed_table(
        "post_media", "The files that posts show, and what became of each.", rows=beside_posts("post_media")
    )
