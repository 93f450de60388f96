"""Posts with everything that belongs to them, in partitions by channel."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import (
    autovacuum_inserts,
    beside_posts,
    by_channel,
    subscribed_table,
    system_table,
    within_window,
)


def create() -> None:
    posts()
    forwards()
    links()
    media_groups()
    post_counts()
    post_links()
    post_raw()
    post_versions()


def posts() -> None:
    """`posts_newest` includes `deleted_at`, which the policy asks for.

    Without it the feed reads a row of the table for each channel.
    """
    op.execute(
        """
        CREATE TABLE posts (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            posted_at timestamptz NOT NULL,
            stored_at timestamptz NOT NULL,
            edited_at timestamptz,
            deleted_at timestamptz,
            revision int NOT NULL DEFAULT 1,
            state_version int NOT NULL DEFAULT 1,
            content_hash bytea NOT NULL,
            kind text NOT NULL,
            text text NOT NULL,
            entities jsonb,
            reply_to bigint,
            fwd_channel_id bigint,
            fwd_message_id bigint,
            grouped_id bigint,
            lang text,
            author text,
            facts jsonb,
            seen_at timestamptz,
            seen_by bigint,
            missed_at timestamptz,
            PRIMARY KEY (channel_id, message_id)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("posts")
    autovacuum_inserts("posts")
    op.execute(
        "CREATE INDEX posts_deleted ON posts (channel_id, deleted_at DESC) WHERE (deleted_at IS NOT NULL)"
    )
    op.execute("CREATE INDEX posts_missed ON posts (channel_id, posted_at) WHERE (missed_at IS NOT NULL)")
    op.execute(
        "CREATE INDEX posts_newest ON posts (channel_id, posted_at DESC, "
        "message_id DESC) INCLUDE (deleted_at)"
    )
    subscribed_table(
        "posts",
        "Every post, once, whoever follows its channel.",
        rows=within_window(
            "posts",
            "posts.posted_at >= s.visible_from AND (posts.deleted_at IS NULL OR posts.deleted_at >= "
            "s.created_at)",
        ),
    )


def forwards() -> None:
    op.execute(
        """
        CREATE TABLE forwards (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            from_channel_id bigint NOT NULL,
            from_message_id bigint,
            posted_at timestamptz NOT NULL,
            PRIMARY KEY (channel_id, message_id)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("forwards")
    op.execute("CREATE INDEX forwards_from ON forwards (from_channel_id, from_message_id)")
    subscribed_table("forwards", "Which post was forwarded from where.", rows=beside_posts("forwards"))


def links() -> None:
    op.execute(
        """
        CREATE TABLE links (
            url_hash bytea PRIMARY KEY,
            url text NOT NULL,
            first_seen_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    system_table("links", "Addresses that posts link to, once.")


def media_groups() -> None:
    op.execute(
        """
        CREATE TABLE media_groups (
            channel_id bigint NOT NULL,
            grouped_id bigint NOT NULL,
            message_ids bigint[] NOT NULL,
            posted_at timestamptz NOT NULL,
            newest_item_at timestamptz NOT NULL,
            revision int NOT NULL DEFAULT 1,
            closed_at timestamptz,
            assembled_revision int NOT NULL DEFAULT 0,
            PRIMARY KEY (channel_id, grouped_id)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("media_groups")
    op.execute("CREATE INDEX media_groups_open ON media_groups (newest_item_at) WHERE (closed_at IS NULL)")
    op.execute(
        """
        CREATE INDEX media_groups_waiting ON media_groups (closed_at)
            WHERE ((closed_at IS NOT NULL) AND (assembled_revision < revision))
        """
    )
    subscribed_table(
        "media_groups",
        "Albums: which posts belong together, and whether more of them may come.",
        rows=within_window("media_groups", "media_groups.posted_at >= s.visible_from"),
    )
    op.execute(
        "COMMENT ON COLUMN media_groups.assembled_revision IS 'The newest revision that was summed up.'"
    )


def post_counts() -> None:
    op.execute(
        """
        CREATE TABLE post_counts (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            seen_at timestamptz NOT NULL,
            views bigint,
            forwards bigint,
            replies bigint,
            reactions jsonb,
            PRIMARY KEY (channel_id, message_id, seen_at)
        ) PARTITION BY RANGE (seen_at)
        """
    )
    op.execute("CREATE TABLE post_counts_rest PARTITION OF post_counts DEFAULT")
    subscribed_table(
        "post_counts",
        "Views, forwards, comments and reactions of a post, each time they had changed when it was read "
        "again.",
        rows=beside_posts("post_counts", noticed_text="seen_at"),
    )


def post_links() -> None:
    op.execute(
        """
        CREATE TABLE post_links (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            url_hash bytea NOT NULL,
            url text NOT NULL,
            PRIMARY KEY (channel_id, message_id, url_hash)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("post_links")
    subscribed_table("post_links", "Which post links where.", rows=beside_posts("post_links"))


def post_raw() -> None:
    op.execute(
        """
        CREATE TABLE post_raw (
            channel_id bigint NOT NULL,
            first_id bigint NOT NULL,
            read_at timestamptz NOT NULL,
            layer int NOT NULL,
            body bytea NOT NULL,
            last_id bigint NOT NULL,
            PRIMARY KEY (channel_id, first_id, read_at)
        ) PARTITION BY RANGE (read_at)
        """
    )
    op.execute("CREATE TABLE post_raw_rest PARTITION OF post_raw DEFAULT")
    system_table("post_raw", "Messages as Telegram sent them, for 30 days.")


def post_versions() -> None:
    """`seen_at` is empty for the first version: that one was seen when the post was stored."""
    op.execute(
        """
        CREATE TABLE post_versions (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            revision int NOT NULL,
            text text NOT NULL,
            entities jsonb,
            facts jsonb,
            content_hash bytea NOT NULL,
            edited_at timestamptz,
            replaced_at timestamptz NOT NULL,
            seen_at timestamptz,
            seen_by bigint,
            difference int[],
            PRIMARY KEY (channel_id, message_id, revision)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("post_versions")
    op.execute("CREATE INDEX post_versions_replaced ON post_versions (channel_id, replaced_at DESC)")
    subscribed_table(
        "post_versions",
        "Every earlier text of a post that was edited.",
        rows=beside_posts("post_versions", noticed_text="replaced_at"),
    )
    op.execute(
        """
        COMMENT ON COLUMN post_versions.difference
            IS 'Characters kept, removed and added, in turn, from this text to the next one.'
        """
    )
