"""Functions about tags, and about paying for a tenant's questions."""

from alembic import op


def create() -> None:
    posts_with_tags()
    reserve_for_question()
    settle_question()
    tags_in_use()
    vocabulary_tags()


def posts_with_tags() -> None:
    """Row-level security would switch the index off, as for words.

    A post counts by the best result that the tenant may see.
    """
    op.execute(
        """
        CREATE FUNCTION posts_with_tags(wanted text[], since timestamptz, before_at timestamptz,
            before_channel bigint, before_message bigint,
            most integer) RETURNS TABLE(channel_id bigint, message_id bigint, posted_at timestamptz)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$
            WITH mine AS MATERIALIZED (
                SELECT s.channel_id, s.visible_from,
                       s.ai_policy = 'provider' AND EXISTS (SELECT 1 FROM ai_consents k
                           WHERE k.tenant_id = s.tenant_id) AS pays
                FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.active
                    AND s.ai_policy <> 'off'
            ),
            tagged AS MATERIALIZED (
                SELECT e.channel_id, e.message_id, e.revision, e.tier FROM post_enrichment e
                WHERE e.kind = 'tags' AND e.data -> 'tags' ?| wanted
            )
            SELECT p.channel_id, p.message_id, p.posted_at
            FROM tagged e JOIN mine m ON m.channel_id = e.channel_id AND (m.pays OR e.tier = 'local')
            JOIN posts p ON p.channel_id = e.channel_id AND p.message_id = e.message_id
            WHERE p.deleted_at IS NULL AND p.posted_at >= greatest(since, m.visible_from)
              AND (before_at IS NULL OR (p.posted_at, p.channel_id, p.message_id) < (before_at,
                  before_channel, before_message))
              AND NOT EXISTS (
                  SELECT 1 FROM post_enrichment o
                  WHERE o.channel_id = e.channel_id AND o.message_id = e.message_id AND o.kind = 'tags'
                      AND (m.pays OR o.tier = 'local')
                    AND (o.revision, o.tier = 'provider') > (e.revision, e.tier = 'provider') OFFSET 0)
            ORDER BY p.posted_at DESC, p.channel_id DESC, p.message_id DESC LIMIT least(most, 1000)
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION posts_with_tags FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION posts_with_tags TO tga_tenant")


def reserve_for_question() -> None:
    op.execute(
        """
        CREATE FUNCTION reserve_for_question(call uuid, payer bigint, highest_micro bigint,
            highest_tokens bigint, call_work text, call_purpose
            text, call_provider text, call_model text, lifetime interval) RETURNS boolean
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            DECLARE
                micro bigint := greatest(highest_micro, 0);
                spent_tokens bigint := greatest(highest_tokens, 0);
                budget budgets;
            BEGIN
                SELECT * INTO budget FROM budgets WHERE tenant_id = payer FOR UPDATE;
                IF budget.month IS DISTINCT FROM date_trunc('month', now() AT TIME ZONE 'UTC')::date THEN
                    budget.used_micro := 0;
                    budget.used_tokens := 0;
                END IF;
                IF coalesce(budget.money_micro - budget.used_micro, 0) < micro
                    OR budget.tokens - budget.used_tokens < spent_tokens THEN
                    RETURN false;
                END IF;
                UPDATE budgets b SET month = date_trunc('month', now() AT TIME ZONE 'UTC')::date,
                    used_micro = budget.used_micro +
                    micro, used_tokens = budget.used_tokens + spent_tokens
                WHERE b.tenant_id = payer;
                INSERT INTO budget_reservations (call_id, tenant_id, month, micro, tokens, work, purpose,
                    provider, model, expires_at)
                VALUES (call, payer, date_trunc('month', now() AT TIME ZONE 'UTC')::date, micro, spent_tokens,
                    call_work, call_purpose,
                    call_provider, call_model, now() + lifetime);
                RETURN true;
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION reserve_for_question FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION reserve_for_question TO tga_api")


def settle_question() -> None:
    """Without a status nothing was sent: the whole reservation goes back, and the ledger gets no row."""
    op.execute(
        """
        CREATE FUNCTION settle_question(call uuid, call_status text, real_micro bigint, real_tokens bigint,
            sent_tokens bigint, received_tokens
            bigint, took_ms integer) RETURNS void
        LANGUAGE sql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            WITH reserved AS (DELETE FROM budget_reservations WHERE call_id = call RETURNING *),
            given_back AS (
                UPDATE budgets b
                SET used_micro = b.used_micro - r.micro + greatest(real_micro, 0),
                    used_tokens = b.used_tokens - r.tokens +
                    greatest(real_tokens, 0)
                FROM reserved r WHERE b.tenant_id = r.tenant_id AND b.month = r.month
            )
            INSERT INTO usage (call_id, tenant_id, micro, tokens, work, purpose, provider, model, status,
                call_sent_tokens, call_received_tokens,
                               call_micro, payers, latency_ms)
            SELECT call_id, tenant_id, greatest(real_micro, 0), greatest(real_tokens, 0), work, purpose,
                provider, model, call_status,
                sent_tokens,
                   received_tokens, greatest(real_micro, 0), 1, took_ms
            FROM reserved WHERE call_status IS NOT NULL
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION settle_question FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION settle_question TO tga_api")


def tags_in_use() -> None:
    """Row-level security would check each post twice and take six times as long."""
    op.execute(
        """
        CREATE FUNCTION tags_in_use(since timestamptz, until timestamptz,
            most integer) RETURNS TABLE(tag text, posts bigint, channels bigint)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$
            WITH mine AS MATERIALIZED (
                SELECT s.channel_id, s.visible_from,
                       s.ai_policy = 'provider' AND EXISTS (SELECT 1 FROM ai_consents k
                           WHERE k.tenant_id = s.tenant_id) AS pays
                FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.active
                    AND s.ai_policy <> 'off'
            ),
            tagged AS (
                SELECT m.channel_id, e.tags FROM mine m
                CROSS JOIN LATERAL (
                    SELECT p.message_id FROM posts p
                    WHERE p.channel_id = m.channel_id AND p.posted_at >= greatest(since, m.visible_from)
                        AND p.posted_at < until
                      AND p.deleted_at IS NULL) p
                CROSS JOIN LATERAL (
                    SELECT e.data -> 'tags' AS tags FROM post_enrichment e
                    WHERE e.channel_id = m.channel_id AND e.message_id = p.message_id AND e.kind = 'tags'
                        AND (m.pays OR e.tier = 'local')
                    ORDER BY e.revision DESC, e.tier = 'provider' DESC LIMIT 1) e
            )
            SELECT t.name, count(*), count(DISTINCT tagged.channel_id)
            FROM tagged
            CROSS JOIN LATERAL jsonb_array_elements_text(CASE jsonb_typeof(tagged.tags) WHEN 'array'
                THEN tagged.tags ELSE '[]' END) AS t(name)
            GROUP BY t.name ORDER BY 2 DESC, 1 LIMIT least(most, 1000)
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION tags_in_use FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION tags_in_use TO tga_tenant")


def vocabulary_tags() -> None:
    """Without the counts: they would tell what channels speak of that the tenant does not follow."""
    op.execute(
        """
        CREATE FUNCTION vocabulary_tags() RETURNS TABLE(lang text, tag text, topic text, is_retired boolean)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$ SELECT v.lang, v.tag, v.topic, v.state = 'retired' FROM vocabulary v
            WHERE v.state <> 'proposed' $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION vocabulary_tags FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION vocabulary_tags TO tga_tenant")
