"""What channels say: posts, their earlier texts, their raw form, and what follows from them."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import autovacuum_inserts, by_channel, subscribed_table, system_table

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    posts()
    projections()


def posts() -> None:
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
            PRIMARY KEY (channel_id, message_id)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("posts")
    autovacuum_inserts("posts")
    op.execute("CREATE INDEX posts_feed ON posts (channel_id, posted_at DESC, message_id DESC)")
    subscribed_table("posts", "Every post, once, whoever follows its channel.")
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
            PRIMARY KEY (channel_id, message_id, revision)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("post_versions")
    subscribed_table("post_versions", "Every earlier text of a post that was edited.")
    op.execute(
        """
        CREATE TABLE post_raw (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            read_at timestamptz NOT NULL,
            layer int NOT NULL,
            body bytea NOT NULL,
            PRIMARY KEY (channel_id, message_id, read_at)
        ) PARTITION BY RANGE (read_at)
        """
    )
    op.execute("ALTER TABLE post_raw ALTER body SET STORAGE EXTERNAL")
    op.execute("CREATE TABLE post_raw_rest PARTITION OF post_raw DEFAULT")
    system_table("post_raw", "Messages as Telegram sent them, for 30 days.")
    op.execute("CREATE TABLE erasures (channel_id bigint PRIMARY KEY, ids int8multirange NOT NULL, erased_at timestamptz NOT NULL DEFAULT now())")
    system_table("erasures", "Posts that were erased on request; landing does not bring them back.")


def projections() -> None:
    op.execute(
        """
        CREATE TABLE post_search (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            posted_at timestamptz NOT NULL,
            words tsvector NOT NULL,
            PRIMARY KEY (channel_id, message_id, posted_at)
        ) PARTITION BY RANGE (posted_at)
        """
    )
    op.execute("CREATE TABLE post_search_rest PARTITION OF post_search DEFAULT")
    op.execute("CREATE INDEX post_search_words ON post_search USING gin (words)")
    op.execute("CREATE INDEX post_search_time ON post_search (posted_at DESC, channel_id, message_id)")
    system_table("post_search", "The words of each post: a projection, outside row-level security, read through one function.")
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
    subscribed_table("post_links", "Which post links where.")
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
    subscribed_table("forwards", "Which post was forwarded from where.")
