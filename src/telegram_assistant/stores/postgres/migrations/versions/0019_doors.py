"""What tenants may know of the work that is done for them, and decide about it: reading, accounts, tags, policies."""

from alembic import op

from telegram_assistant.stores.postgres.migrations.functions import definer
from telegram_assistant.stores.postgres.migrations.indexes import add_index

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    reading()
    accounts()
    tags()
    choices()


def reading() -> None:
    # What stands in the way is told of the tenant's own accounts and the operator's; another tenant's are its own affair. And a
    # channel has an account where one of those can open it, whoever reads it at the moment.
    definer(
        "reading_of_channels",
        "only_channels bigint[]",
        """TABLE (channel_id bigint, has_account boolean, last_polled_at timestamptz, failures int, blocked_until timestamptz, lost_reason text,
               lost_at timestamptz, is_filling boolean, fill_error text, fill_again_at timestamptz, by_preview boolean,
               previews_blocked_until timestamptz)""",
        """
        SELECT c.channel_id, p.account_id IS NOT NULL OR able.yes IS NOT NULL, p.last_polled_at, p.fail_count, l.blocked_until,
               lost.lost_reason, lost.lost_at,
               coalesce(b.state = 'open', false), b.error, b.next_try_at,
               r.lease_until > now() AND NOT c.is_private AND c.username IS NOT NULL,
               CASE WHEN r.next_request_at > now() + interval '1 minute' THEN r.next_request_at END
        FROM subscriptions s
        JOIN channels c ON c.channel_id = s.channel_id
        JOIN poll_schedule p ON p.channel_id = s.channel_id
        CROSS JOIN preview_reader r
        LEFT JOIN LATERAL (
            SELECT l.blocked_until FROM account_limits l JOIN telegram_accounts a USING (account_id) JOIN tenants t USING (tenant_id)
            WHERE l.account_id = p.account_id AND l.method = 'messages.getHistory' AND l.blocked_until > now()
              AND (a.tenant_id = s.tenant_id OR t.is_operator)) l ON true
        LEFT JOIN LATERAL (
            SELECT true AS yes FROM account_channels k JOIN telegram_accounts a USING (account_id) JOIN tenants t USING (tenant_id)
            WHERE p.account_id IS NULL AND k.channel_id = s.channel_id AND k.lost_at IS NULL AND a.state = 'active'
              AND (a.tenant_id = s.tenant_id OR t.is_operator AND NOT c.is_private) LIMIT 1) able ON true
        LEFT JOIN LATERAL (
            SELECT state, error, next_try_at FROM backfills WHERE channel_id = s.channel_id AND state <> 'done'
            ORDER BY backfill_id DESC LIMIT 1) b ON true
        LEFT JOIN LATERAL (
            SELECT k.lost_reason, k.lost_at FROM account_channels k JOIN telegram_accounts a USING (account_id) JOIN tenants t USING (tenant_id)
            WHERE k.channel_id = s.channel_id AND k.lost_at IS NOT NULL AND (a.tenant_id = s.tenant_id OR t.is_operator)
            ORDER BY k.lost_at DESC LIMIT 1) lost ON true
        WHERE s.tenant_id = current_tenant() AND s.active AND (only_channels IS NULL OR s.channel_id = ANY(only_channels))
        """,
    )
    # The one index that finds the jobs of a channel knows only open ones; a person also wants to know what has failed.
    op.execute("CREATE INDEX backfills_unfinished ON backfills (channel_id, backfill_id) WHERE state <> 'done'")
    # First the schedule, then the channel: the order in which everybody locks them.
    definer(
        "release_channel",
        "released bigint",
        "boolean",
        """
        WITH due AS (
            UPDATE poll_schedule p SET next_poll_at = now(), asked_at = now()
            WHERE p.channel_id = released AND p.next_poll_at < 'infinity'
              AND EXISTS (SELECT 1 FROM channels c WHERE c.channel_id = released AND c.parked_until IS NOT NULL)
              AND EXISTS (SELECT 1 FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.channel_id = released AND s.active)
            RETURNING p.channel_id
        ),
        freed AS (
            UPDATE channels c SET parked_reason = NULL, parked_until = NULL FROM due WHERE c.channel_id = due.channel_id RETURNING c.channel_id
        )
        SELECT EXISTS (SELECT 1 FROM freed)
        """,
        volatility="VOLATILE",
    )


def accounts() -> None:
    definer(
        "limits_of_accounts",
        "",
        """TABLE (account_id bigint, method text, blocked_until timestamptz, tokens double precision[], tokens_age_seconds double precision,
               pace double precision, pace_age_seconds double precision)""",
        """
        SELECT l.account_id, l.method, CASE WHEN l.blocked_until > now() THEN l.blocked_until END, l.tokens,
               coalesce(extract(epoch FROM now() - l.tokens_at), 0)::float8, l.pace, extract(epoch FROM now() - l.paced_at)::float8
        FROM account_limits l JOIN telegram_accounts a USING (account_id) WHERE a.tenant_id = current_tenant()
        """,
    )
    # Which of the channels that it can open an account really reads depends on others who follow them, so that is the operator's to know.
    definer(
        "work_of_accounts",
        "",
        "TABLE (account_id bigint, channels bigint, overdue bigint, requests_per_second real, open_backfills bigint, lost_channels bigint)",
        """
        SELECT a.account_id,
               CASE WHEN t.is_operator THEN (SELECT count(*) FROM poll_schedule p WHERE p.account_id = a.account_id AND p.next_poll_at < 'infinity')
               ELSE (SELECT count(*) FROM account_channels k JOIN subscriptions s ON s.channel_id = k.channel_id
                     WHERE k.account_id = a.account_id AND k.lost_at IS NULL AND s.tenant_id = a.tenant_id AND s.active) END,
               (SELECT count(*) FROM poll_schedule p WHERE p.account_id = a.account_id AND p.next_poll_at < now() - interval '5 minutes'),
               l.requests_per_second,
               (SELECT count(*) FROM backfills b WHERE b.account_id = a.account_id AND b.state = 'open'),
               (SELECT count(*) FROM account_channels k WHERE k.account_id = a.account_id AND k.lost_at IS NOT NULL)
        FROM telegram_accounts a JOIN tenants t USING (tenant_id) LEFT JOIN account_plans l USING (account_id)
        WHERE a.tenant_id = current_tenant()
        """,
    )
    # To pause and to resume. Who is held lets go within 20 seconds, as with every other change of state.
    op.execute("GRANT UPDATE (state, state_reason) ON telegram_accounts TO tga_tenant")


def tags() -> None:
    # Without the counts: they would tell what channels speak of that the tenant does not follow.
    definer(
        "vocabulary_tags",
        "",
        "TABLE (lang text, tag text, topic text, is_retired boolean)",
        "SELECT v.lang, v.tag, v.topic, v.state = 'retired' FROM vocabulary v WHERE v.state <> 'proposed'",
    )
    # Row-level security would ask for every post twice whether the tenant follows its channel: six times as long.
    definer(
        "tags_in_use",
        "since timestamptz, until timestamptz, most int",
        "TABLE (tag text, posts bigint, channels bigint)",
        """
        WITH mine AS MATERIALIZED (
            SELECT s.channel_id, s.ai_policy = 'provider' AND EXISTS (SELECT 1 FROM ai_consents k WHERE k.tenant_id = s.tenant_id) AS pays
            FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.active AND s.ai_policy <> 'off'
        ),
        tagged AS (
            SELECT m.channel_id, e.tags FROM mine m
            CROSS JOIN LATERAL (
                SELECT p.message_id FROM posts p
                WHERE p.channel_id = m.channel_id AND p.posted_at >= since AND p.posted_at < until AND p.deleted_at IS NULL) p
            CROSS JOIN LATERAL (
                SELECT e.data -> 'tags' AS tags FROM post_enrichment e
                WHERE e.channel_id = m.channel_id AND e.message_id = p.message_id AND e.kind = 'tags' AND (m.pays OR e.tier = 'local')
                ORDER BY e.revision DESC, e.tier = 'provider' DESC LIMIT 1) e
        )
        SELECT t.name, count(*), count(DISTINCT tagged.channel_id)
        FROM tagged
        CROSS JOIN LATERAL jsonb_array_elements_text(CASE jsonb_typeof(tagged.tags) WHEN 'array' THEN tagged.tags ELSE '[]' END) AS t(name)
        GROUP BY t.name ORDER BY 2 DESC, 1 LIMIT least(most, 1000)
        """,
    )
    # Row-level security would switch this index off, as for words. A post counts by the best result that the tenant may see.
    add_index("post_enrichment", "post_enrichment_tags", "USING gin ((data -> 'tags')) WHERE kind = 'tags'")
    definer(
        "posts_with_tags",
        "wanted text[], since timestamptz, before_at timestamptz, before_channel bigint, before_message bigint, most int",
        "TABLE (channel_id bigint, message_id bigint, posted_at timestamptz)",
        """
        WITH mine AS MATERIALIZED (
            SELECT s.channel_id, s.ai_policy = 'provider' AND EXISTS (SELECT 1 FROM ai_consents k WHERE k.tenant_id = s.tenant_id) AS pays
            FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.active AND s.ai_policy <> 'off'
        ),
        tagged AS MATERIALIZED (
            SELECT e.channel_id, e.message_id, e.revision, e.tier FROM post_enrichment e WHERE e.kind = 'tags' AND e.data -> 'tags' ?| wanted
        )
        SELECT p.channel_id, p.message_id, p.posted_at
        FROM tagged e JOIN mine m ON m.channel_id = e.channel_id AND (m.pays OR e.tier = 'local')
        JOIN posts p ON p.channel_id = e.channel_id AND p.message_id = e.message_id
        WHERE p.deleted_at IS NULL AND p.posted_at >= since
          AND (before_at IS NULL OR (p.posted_at, p.channel_id, p.message_id) < (before_at, before_channel, before_message))
          AND NOT EXISTS (
              SELECT 1 FROM post_enrichment o
              WHERE o.channel_id = e.channel_id AND o.message_id = e.message_id AND o.kind = 'tags' AND (m.pays OR o.tier = 'local')
                AND (o.revision, o.tier = 'provider') > (e.revision, e.tier = 'provider') OFFSET 0)
        ORDER BY p.posted_at DESC, p.channel_id DESC, p.message_id DESC LIMIT least(most, 1000)
        """,
    )


def choices() -> None:
    op.execute(
        """
        ALTER TABLE tenants ADD COLUMN default_ai_policy text NOT NULL DEFAULT 'local'
            CHECK (default_ai_policy IN ('off', 'local', 'provider'))
        """
    )
    op.execute("COMMENT ON COLUMN tenants.default_ai_policy IS 'What may understand a channel that is followed without saying so.'")
    op.execute("GRANT UPDATE (default_ai_policy) ON tenants TO tga_tenant")
    op.execute("ALTER TABLE ai_consents ALTER tenant_id SET DEFAULT current_tenant()")
    op.execute("GRANT INSERT (given_by), DELETE ON ai_consents TO tga_tenant")
