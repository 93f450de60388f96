"""Tags: the vocabulary and how it grows, what tenants hide and rename, copies of texts, and who sees which tier of a result."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table, tenant_table

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    vocabulary()
    tenants()
    copies()
    tiers()


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
    system_table("vocabulary", "The tags of this installation by language, with how many posts and channels proposed those that came later.")
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


def tenants() -> None:
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
    tenant_table("tenant_tags", "Tags that a tenant hides or calls by another name.", "SELECT", "INSERT", "UPDATE (shown_as, hidden)", "DELETE")


def copies() -> None:
    op.execute(
        """
        CREATE TABLE near_texts (
            bucket bytea NOT NULL,
            content bytea NOT NULL,
            sample bytea NOT NULL,
            seen_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (bucket, content)
        )
        """
    )
    op.execute("CREATE INDEX near_texts_seen ON near_texts (seen_at)")
    system_table("near_texts", "Texts that a provider was asked about, in brief: copies of them share the answer.")


def tiers() -> None:
    # Beside the policy of its class: a tenant whose subscription says `off` sees no result of a model, who says `local`
    # sees local ones, and a provider's results are seen by those who pay for them. What linked pages say is no model's result.
    op.execute(
        """
        CREATE POLICY tier ON post_enrichment AS RESTRICTIVE FOR SELECT TO tga_tenant USING (
            kind = 'crawl' OR EXISTS (
                SELECT 1 FROM subscriptions s
                WHERE s.tenant_id = (SELECT current_tenant()) AND s.channel_id = post_enrichment.channel_id AND s.active
                  AND CASE tier WHEN 'provider' THEN s.ai_policy = 'provider' AND EXISTS (SELECT 1 FROM ai_consents k WHERE k.tenant_id = s.tenant_id)
                      ELSE s.ai_policy <> 'off' END
                OFFSET 0))
        """
    )
