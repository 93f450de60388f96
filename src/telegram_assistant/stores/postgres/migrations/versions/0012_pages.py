"""Pages that posts link to, read once for all tenants, and what each post gains from them."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import by_channel, subscribed_table, system_table

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    pages()
    enrichment()


def pages() -> None:
    # A row without a status is being read for the first time. leased_* names who reads it now, and until when.
    op.execute(
        """
        CREATE TABLE pages (
            url_hash bytea PRIMARY KEY,
            url text NOT NULL,
            found_at text,
            canonical_url text,
            status text,
            why text NOT NULL DEFAULT '',
            title text,
            author text,
            published_at timestamptz,
            lang text,
            text text NOT NULL DEFAULT '',
            image_url text,
            by_browser boolean NOT NULL DEFAULT false,
            attempts int NOT NULL DEFAULT 0,
            fetched_at timestamptz,
            expires_at timestamptz,
            leased_by text,
            leased_until timestamptz
        )
        """
    )
    op.execute("CREATE INDEX pages_expired ON pages (expires_at)")
    system_table("pages", "Linked pages, once, whoever links to them. Tenants see them through their posts.")


def enrichment() -> None:
    op.execute(
        """
        CREATE TABLE post_enrichment (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            kind text NOT NULL,
            tier text NOT NULL,
            provider text,
            model text,
            prompt_version text,
            content_hash bytea,
            revision int NOT NULL,
            data jsonb NOT NULL,
            made_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (channel_id, message_id, kind, tier)
        ) PARTITION BY HASH (channel_id)
        """
    )
    by_channel("post_enrichment")
    subscribed_table("post_enrichment", "What was understood about a post, by kind and tier.")
