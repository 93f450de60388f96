"""The understanding of posts: results, policies, vocabularies and linked pages."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import (
    beside_posts,
    by_channel,
    subscribed_table,
    system_table,
    tenant_table,
)


def create() -> None:
    ai_consents()
    ai_results()
    near_texts()
    pages()
    post_enrichment()
    provider_wanted()
    tag_proposals()
    tenant_tags()
    vocabulary()


def ai_consents() -> None:
    op.execute(
        """
        CREATE TABLE ai_consents (
            tenant_id bigint DEFAULT current_tenant() PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
            given_by text NOT NULL,
            given_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    tenant_table(
        "ai_consents",
        "The word of an owner that texts may be sent to a provider; without it, provider means local.",
        "SELECT, DELETE",
        "INSERT (given_by)",
    )


def ai_results() -> None:
    op.execute(
        """
        CREATE TABLE ai_results (
            key bytea PRIMARY KEY,
            work text NOT NULL,
            provider text NOT NULL,
            model text NOT NULL,
            prompt_version text NOT NULL,
            data jsonb,
            created_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    op.execute("CREATE INDEX ai_results_created ON ai_results (created_at)")
    system_table(
        "ai_results",
        "What providers answered, by hash of content, model and prompt version: nothing is paid for twice. "
        "No data: refused.",
    )


def near_texts() -> None:
    op.execute(
        """
        CREATE TABLE near_texts (
            bucket bytea NOT NULL,
            content bytea NOT NULL,
            sample bytea NOT NULL,
            seen_at timestamptz NOT NULL DEFAULT now(),
            length int NOT NULL DEFAULT 0,
            PRIMARY KEY (bucket, content)
        )
        """
    )
    op.execute("CREATE INDEX near_texts_seen ON near_texts (seen_at)")
    system_table(
        "near_texts", "Texts that a provider was asked about, in brief: copies of them share the answer."
    )


def pages() -> None:
    """A row without a status is being read for the first time.

    `leased_*` says who reads it now, and until when.
    """
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


def post_enrichment() -> None:
    """The policy `tier` adds to that of the class.

    A tenant whose subscription says `off` sees no result of a model, one that says `local` sees local ones,
    and a provider's results are seen by those who pay for them. The content of linked pages is no model's
    result.
    """
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
    op.execute(
        """
        CREATE INDEX post_enrichment_tags ON post_enrichment USING gin (((data -> 'tags')))
            WHERE (kind = 'tags')
        """
    )
    subscribed_table(
        "post_enrichment",
        "What was understood about a post, by kind and tier.",
        rows=beside_posts("post_enrichment"),
    )
    op.execute(
        """
        CREATE POLICY tier ON post_enrichment AS RESTRICTIVE FOR SELECT TO tga_tenant
            USING (((kind = 'crawl') OR (EXISTS ( SELECT 1
           FROM subscriptions s
          WHERE ((s.tenant_id = ( SELECT current_tenant() AS current_tenant))
              AND (s.channel_id = post_enrichment.channel_id) AND s.active AND
                CASE post_enrichment.tier
                    WHEN 'provider' THEN ((s.ai_policy = 'provider') AND (EXISTS ( SELECT 1
                       FROM ai_consents k
                      WHERE (k.tenant_id = s.tenant_id))))
                    ELSE (s.ai_policy <> 'off')
                END)
         OFFSET 0))))
        """
    )


def provider_wanted() -> None:
    op.execute(
        """
        CREATE TABLE provider_wanted (
            channel_id bigint NOT NULL,
            message_id bigint NOT NULL,
            work text NOT NULL,
            wanted_at timestamptz NOT NULL DEFAULT now(),
            taken_until timestamptz NOT NULL DEFAULT '-infinity'::timestamp with time zone,
            attempts smallint NOT NULL DEFAULT 0,
            posted_at timestamptz NOT NULL DEFAULT now(),
            is_set_aside boolean NOT NULL DEFAULT false,
            PRIMARY KEY (channel_id, message_id, work)
        )
        """
    )
    op.execute("CREATE INDEX provider_wanted_order ON provider_wanted (work, posted_at DESC)")
    system_table(
        "provider_wanted",
        "Posts that went on with a local result while a provider was wanted; worked off later, "
        "the newest first.",
    )
    op.execute(
        """
        COMMENT ON COLUMN provider_wanted.is_set_aside
            IS 'It waits for money, or fails by itself: history does not wait for it.'
        """
    )


def tag_proposals() -> None:
    op.execute(
        """
        CREATE TABLE tag_proposals (
            lang text NOT NULL,
            tag text NOT NULL,
            channel_id bigint NOT NULL,
            text_hash bytea NOT NULL,
            topic text NOT NULL,
            proposed_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (lang, tag, channel_id, text_hash)
        )
        """
    )
    op.execute("CREATE INDEX tag_proposals_proposed ON tag_proposals (proposed_at)")
    system_table("tag_proposals", "Which channels proposed which tag, until it is established or forgotten.")


def tenant_tags() -> None:
    op.execute(
        """
        CREATE TABLE tenant_tags (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            lang text NOT NULL,
            tag text NOT NULL,
            shown_as text,
            hidden boolean NOT NULL DEFAULT false,
            PRIMARY KEY (tenant_id, lang, tag)
        )
        """
    )
    tenant_table(
        "tenant_tags",
        "Tags that a tenant hides or calls by another name.",
        "INSERT, SELECT, DELETE",
        "UPDATE (shown_as, hidden)",
    )


def vocabulary() -> None:
    op.execute(
        """
        CREATE TABLE vocabulary (
            lang text NOT NULL,
            tag text NOT NULL,
            topic text NOT NULL,
            state text NOT NULL CHECK (state IN ('active', 'proposed', 'retired')),
            posts int NOT NULL DEFAULT 0,
            channels int NOT NULL DEFAULT 0,
            added_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (lang, tag)
        )
        """
    )
    system_table(
        "vocabulary",
        "The tags of this installation by language, with how many posts and channels proposed those that "
        "came later.",
    )
