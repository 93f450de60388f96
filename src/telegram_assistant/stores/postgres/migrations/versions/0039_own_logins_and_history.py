"""A tenant's own work: it deletes the login of its account, and has its stored posts understood."""

from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    forget_own_login()
    want_own_history()


def forget_own_login() -> None:
    op.execute("GRANT SELECT (key_id) ON telegram_accounts TO tga_tenant")
    op.execute(
        """
        CREATE FUNCTION forget_own_login(account uuid, why text) RETURNS void
        LANGUAGE sql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            UPDATE login_attempts l SET state = 'failed', error = why, answer = NULL, shown = NULL
            FROM telegram_accounts a
            WHERE a.account_id = l.account_id AND a.public_id = account AND a.tenant_id = current_tenant()
              AND a.state NOT IN ('active', 'logging out') AND l.state NOT IN ('done', 'failed', 'expired');
            UPDATE telegram_accounts SET state = 'new', state_reason = NULL, key_id = NULL, session = NULL
            WHERE public_id = account AND tenant_id = current_tenant()
                AND state NOT IN ('active', 'logging out');
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION forget_own_login FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION forget_own_login TO tga_tenant")


def want_own_history() -> None:
    """Stages and the worker decide again who may see a result and who pays, so a row here is only an order.

    It counts what was wanted, not what was queued: what is queued already tells of other tenants.
    """
    op.execute(
        """
        CREATE FUNCTION want_own_history(since timestamptz, local_model text, version text, wanted_work text,
            is_paid boolean)
        RETURNS TABLE(local bigint, provider bigint)
        LANGUAGE sql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            WITH own AS MATERIALIZED (
                SELECT p.channel_id, p.message_id, p.revision, p.posted_at,
                       NOT EXISTS (SELECT 1 FROM post_enrichment l
                           WHERE l.channel_id = p.channel_id AND l.message_id = p.message_id
                                     AND l.kind = 'tags' AND l.tier = 'local' AND l.revision = p.revision
                                         AND l.model = local_model
                                     AND l.prompt_version = version) AS is_local,
                       is_paid AND p.text <> '' AND s.ai_policy = 'provider'
                           AND EXISTS (SELECT 1 FROM ai_consents k WHERE k.tenant_id = s.tenant_id)
                           AND NOT EXISTS (SELECT 1 FROM post_enrichment r
                               WHERE r.channel_id = p.channel_id AND r.message_id = p.message_id
                                             AND r.kind = 'tags' AND r.tier = 'provider'
                                                 AND r.revision = p.revision
                                             AND r.prompt_version = version) AS is_wanted
                FROM subscriptions s JOIN channels c ON c.channel_id = s.channel_id AND NOT c.ai_blocked
                JOIN posts p ON p.channel_id = s.channel_id AND p.posted_at >= greatest(since, s.visible_from)
                    AND p.deleted_at IS NULL
                WHERE s.tenant_id = current_tenant() AND s.active AND s.ai_policy <> 'off'
            ), replayed AS (
                INSERT INTO outbox (channel_id, message_id, revision, lane, requested_by)
                SELECT o.channel_id, o.message_id, o.revision, 'bulk', current_tenant() FROM own o
                WHERE o.is_local AND NOT EXISTS (SELECT 1 FROM outbox q
                    WHERE q.channel_id = o.channel_id AND q.message_id = o.message_id
                        AND q.revision = o.revision)
            ), wanted AS (
                INSERT INTO provider_wanted (channel_id, message_id, work, posted_at)
                SELECT o.channel_id, o.message_id, wanted_work, o.posted_at FROM own o WHERE o.is_wanted
                ORDER BY 1, 2
                ON CONFLICT DO NOTHING
            )
            SELECT count(*) FILTER (WHERE o.is_local), count(*) FILTER (WHERE o.is_wanted) FROM own o
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION want_own_history FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION want_own_history TO tga_tenant")
