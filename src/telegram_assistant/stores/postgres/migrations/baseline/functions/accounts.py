"""Functions that tell a tenant about its accounts."""

from alembic import op


def create() -> None:
    accounts_for_requests()
    limits_of_accounts()
    work_of_accounts()


def accounts_for_requests() -> None:
    """As in the queue: a tenant's own accounts, or else the operator's."""
    op.execute(
        """
        CREATE FUNCTION accounts_for_requests(methods text[]) RETURNS TABLE(account_id bigint, is_own boolean,
            is_running boolean, method text,
            blocked_seconds double precision, tokens double precision[], tokens_age_seconds double precision,
            pace double precision,
            pace_age_seconds double precision)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$
            SELECT a.account_id, a.tenant_id = current_tenant(), coalesce(a.lease_until > now(), false),
                l.method,
                   coalesce(greatest(extract(epoch FROM l.blocked_until - now()), 0), 0)::float8, l.tokens,
                   coalesce(extract(epoch FROM now() - l.tokens_at), 0)::float8, l.pace,
                   extract(epoch FROM now() - l.paced_at)::float8
            FROM telegram_accounts a JOIN tenants t USING (tenant_id)
            LEFT JOIN account_limits l ON l.account_id = a.account_id AND l.method = ANY (methods)
            WHERE current_tenant() IS NOT NULL AND a.state = 'active'
                AND (a.tenant_id = current_tenant() OR t.is_operator AND NOT EXISTS (
                SELECT 1 FROM telegram_accounts o WHERE o.tenant_id = current_tenant()
                    AND o.state = 'active'))
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION accounts_for_requests FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION accounts_for_requests TO tga_tenant")


def limits_of_accounts() -> None:
    op.execute(
        """
        CREATE FUNCTION limits_of_accounts() RETURNS TABLE(account_id bigint, method text,
            blocked_until timestamptz, tokens double precision[],
            tokens_age_seconds double precision, pace double precision, pace_age_seconds double precision)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$
            SELECT l.account_id, l.method, CASE WHEN l.blocked_until > now() THEN l.blocked_until END,
                l.tokens,
                   coalesce(extract(epoch FROM now() - l.tokens_at), 0)::float8, l.pace,
                   extract(epoch FROM now() - l.paced_at)::float8
            FROM account_limits l JOIN telegram_accounts a USING (account_id)
            WHERE a.tenant_id = current_tenant()
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION limits_of_accounts FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION limits_of_accounts TO tga_tenant")


def work_of_accounts() -> None:
    """Which of the channels that it can open an account really reads depends on other followers,
    so only the operator learns it.
    """
    op.execute(
        """
        CREATE FUNCTION work_of_accounts() RETURNS TABLE(account_id bigint, channels bigint, overdue bigint,
            requests_per_second real,
            open_backfills bigint, lost_channels bigint)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$
            SELECT a.account_id,
                   CASE WHEN t.is_operator THEN (SELECT count(*) FROM poll_schedule p
                       WHERE p.account_id = a.account_id AND
                       p.next_poll_at < 'infinity')
                   ELSE (SELECT count(*) FROM account_channels k
                       JOIN subscriptions s ON s.channel_id = k.channel_id
                         WHERE k.account_id = a.account_id AND k.lost_at IS NULL AND s.tenant_id = a.tenant_id
                             AND s.active) END,
                   CASE WHEN t.is_operator THEN
                       (SELECT count(*) FROM poll_schedule p
                           WHERE p.account_id = a.account_id
                               AND p.next_poll_at < now() - interval '5 minutes')
                   ELSE (SELECT count(*) FROM account_channels k
                       JOIN subscriptions s ON s.channel_id = k.channel_id
                         JOIN poll_schedule p ON p.channel_id = k.channel_id
                         WHERE k.account_id = a.account_id AND k.lost_at IS NULL AND s.tenant_id = a.tenant_id
                             AND s.active
                           AND p.next_poll_at < now() - interval '5 minutes') END,
                   l.requests_per_second,
                   (SELECT count(*) FROM backfills b WHERE b.account_id = a.account_id AND b.state = 'open'
                      AND (t.is_operator OR b.requested_by IN (0, a.tenant_id))),
                   (SELECT count(*) FROM account_channels k
                       WHERE k.account_id = a.account_id AND k.lost_at IS NOT NULL)
            FROM telegram_accounts a JOIN tenants t USING (tenant_id) LEFT
            JOIN account_plans l USING (account_id)
            WHERE a.tenant_id = current_tenant()
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION work_of_accounts FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION work_of_accounts TO tga_tenant")
