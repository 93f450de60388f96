"""The full-text index."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table


def create() -> None:
    post_search()


def post_search() -> None:
    """Outside row-level security, which would switch the index off:
    tenants search through `search_words` only.
    """
    op.execute(
        """
        CREATE TABLE post_search (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            posted_at timestamptz NOT NULL,
            words tsvector NOT NULL,
            lang text,
            has smallint NOT NULL DEFAULT 0,
            PRIMARY KEY (channel_id, message_id, posted_at)
        ) PARTITION BY RANGE (posted_at)
        """
    )
    op.execute("CREATE TABLE post_search_rest PARTITION OF post_search DEFAULT")
    op.execute("CREATE INDEX post_search_time ON post_search (posted_at DESC, channel_id, message_id)")
    op.execute("CREATE INDEX post_search_words ON post_search USING gin (words)")
    system_table(
        "post_search",
        "The words of each post: a projection, outside row-level security, read through one function.",
    )
    op.execute(
        "COMMENT ON COLUMN post_search.has IS 'What hangs on the post, a bit each: image, video, link, file.'"
    )
