"""Functions about channels and windows, with the triggers of subscriptions."""

from alembic import op


def create() -> None:
    window_start()
    beside_requests()
    keep_window()
    poll_followed_channel()
    reading_of_channels()
    refresh_tiers()
    release_channel()
    op.execute(
        """
        CREATE TRIGGER keep_tenant_suspended BEFORE INSERT OR UPDATE OF active ON subscriptions
        FOR EACH ROW EXECUTE FUNCTION keep_tenant_suspended()
        """
    )
    op.execute(
        """
        CREATE TRIGGER keep_window BEFORE INSERT OR UPDATE ON subscriptions
        FOR EACH ROW EXECUTE FUNCTION keep_window()
        """
    )


def window_start() -> None:
    """More days than Telegram has existed mean everything."""
    op.execute(
        """
        CREATE FUNCTION window_start(followed_at timestamptz, history_days integer) RETURNS timestamptz
        LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path TO 'pg_catalog', 'pg_temp'
        AS $$
            SELECT CASE WHEN d.day <= date '2013-08-14' THEN '-infinity'
                ELSE d.day::timestamp AT TIME ZONE 'UTC' END
            FROM (SELECT (followed_at AT TIME ZONE 'UTC')::date - history_days AS day) d
        $$
        """
    )


def beside_requests() -> None:
    """Other tenants take turns only where accounts are shared: the operator's with those who have none,
    and previews where there is none.
    """
    op.execute(
        """
        CREATE FUNCTION beside_requests() RETURNS TABLE(tenants bigint, has_previews boolean)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$
            WITH sharing AS (
                SELECT t.tenant_id FROM tenants t
                WHERE t.is_operator OR NOT EXISTS (SELECT 1 FROM telegram_accounts a
                    WHERE a.tenant_id = t.tenant_id AND a.state = 'active')
            )
            SELECT count(*), (SELECT bool_or(p.lease_until > now()) FROM preview_reader p)
            FROM sharing s
            WHERE s.tenant_id <> current_tenant()
                AND EXISTS (SELECT 1 FROM sharing WHERE tenant_id = current_tenant())
              AND EXISTS (SELECT 1 FROM channel_requests r
                  WHERE r.party = s.tenant_id AND r.kind = 'username' AND r.state = 'open' OFFSET 0)
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION beside_requests FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION beside_requests TO tga_tenant")


def keep_window() -> None:
    """A trigger, so that no statement forgets it.

    Following again after leaving starts anew, and so does regaining access to a channel; a tenant that the
    operator suspends and resumes has not left.
    """
    op.execute(
        """
        CREATE FUNCTION keep_window() RETURNS trigger
        LANGUAGE plpgsql SET search_path TO 'public', 'pg_temp'
        AS $$
            BEGIN
                IF TG_OP = 'INSERT' THEN
                    NEW.visible_from := window_start(NEW.created_at, NEW.history_days);
                ELSIF NEW.active AND NOT OLD.active AND OLD.suspended_reason IS DISTINCT
                    FROM 'the tenant is suspended' THEN
                    NEW.created_at := now();
                    NEW.visible_from := window_start(NEW.created_at, NEW.history_days);
                ELSE
                    NEW.visible_from := least(OLD.visible_from,
                        window_start(NEW.created_at, NEW.history_days));
                END IF;
                RETURN NEW;
            END
        $$
        """
    )


def poll_followed_channel() -> None:
    """Returns false only where the tenant has no account at work.

    Whether one of them could open the channel before would tell that others follow it.
    """
    op.execute(
        """
        CREATE FUNCTION poll_followed_channel(polled bigint, mode text, comes_first boolean) RETURNS boolean
        LANGUAGE sql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$
            WITH mine AS (
                SELECT a.account_id FROM telegram_accounts a JOIN subscriptions s USING (tenant_id)
                WHERE a.tenant_id = current_tenant() AND a.state = 'active' AND s.channel_id = polled
                    AND s.active
            ),
            able AS (
                SELECT r.account_id FROM account_channels r JOIN mine USING (account_id)
                WHERE r.channel_id = polled AND r.lost_at IS NULL ORDER BY r.joined DESC, r.account_id LIMIT 1
            ),
            asked AS (
                UPDATE poll_schedule p SET asked_at = now(), asked_mode = mode, next_poll_at = CASE
                    WHEN comes_first THEN 'epoch' ELSE now() END,
                    account_id = CASE WHEN reader.tenant_id = current_tenant() THEN p.account_id
                        ELSE able.account_id END
                FROM able, poll_schedule s LEFT JOIN telegram_accounts reader
                    ON reader.account_id = s.account_id
                WHERE p.channel_id = polled AND s.channel_id = p.channel_id AND p.next_poll_at < 'infinity'
                  AND (reader.tenant_id = current_tenant() OR NOT p.claimed)
                RETURNING p.channel_id
            ),
            freed AS (UPDATE channels c SET parked_reason = NULL, parked_until = NULL FROM asked
                WHERE c.channel_id = asked.channel_id),
            sought AS (
                INSERT INTO channel_requests (tenant_id, account_id, kind, reference)
                SELECT NULL, (SELECT min(account_id) FROM mine), 'access', c.username FROM channels c
                WHERE c.channel_id = polled AND NOT c.is_private AND c.username IS NOT NULL
                  AND EXISTS (SELECT 1 FROM mine) AND NOT EXISTS (SELECT 1 FROM able) AND NOT EXISTS (
                      SELECT 1 FROM channel_requests r JOIN mine USING (account_id)
                      WHERE r.kind = 'access' AND r.reference = c.username
                          AND r.created_at > now() - interval '1 day')
            )
            SELECT EXISTS (SELECT 1 FROM mine)
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION poll_followed_channel FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION poll_followed_channel TO tga_tenant")


def reading_of_channels() -> None:
    """Reports only the tenant's own accounts and the operator's: another tenant's are its own affair.

    A poll counts since the tenant follows the channel, and a channel has an account where one of those can
    open it, whichever reads it at the moment.
    """
    op.execute(
        """
        CREATE FUNCTION reading_of_channels(only_channels bigint[]) RETURNS TABLE(channel_id bigint,
            has_account boolean, last_polled_at
            timestamptz, failures integer, blocked_until timestamptz, lost_reason text, lost_at timestamptz,
            is_filling boolean, fill_error
            text, fill_again_at timestamptz, by_preview boolean, previews_blocked_until timestamptz)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$
            SELECT c.channel_id, p.account_id IS NOT NULL OR able.yes IS NOT NULL,
                   CASE WHEN p.last_polled_at >= s.created_at THEN p.last_polled_at END, p.fail_count,
                       l.blocked_until,
                       lost.lost_reason, lost.lost_at,
                   coalesce(b.state = 'open', false), b.error, b.next_try_at,
                   r.lease_until > now() AND NOT c.is_private AND c.username IS NOT NULL,
                   CASE WHEN r.next_request_at > now() + interval '1 minute' THEN r.next_request_at END
            FROM subscriptions s
            JOIN channels c ON c.channel_id = s.channel_id
            JOIN poll_schedule p ON p.channel_id = s.channel_id
            CROSS JOIN preview_reader r
            LEFT JOIN LATERAL (
                SELECT l.blocked_until FROM account_limits l JOIN telegram_accounts a USING (account_id)
                JOIN tenants t USING (tenant_id)
                WHERE l.account_id = p.account_id AND l.method = 'messages.getHistory'
                    AND l.blocked_until > now()
                  AND (a.tenant_id = s.tenant_id OR t.is_operator)) l ON true
            LEFT JOIN LATERAL (
                SELECT true AS yes FROM account_channels k JOIN telegram_accounts a USING (account_id)
                JOIN tenants t USING (tenant_id)
                WHERE p.account_id IS NULL AND k.channel_id = s.channel_id AND k.lost_at IS NULL
                    AND a.state = 'active'
                  AND (a.tenant_id = s.tenant_id OR t.is_operator AND NOT c.is_private) LIMIT 1) able ON true
            LEFT JOIN LATERAL (
                SELECT state, error, next_try_at FROM backfills
                WHERE channel_id = s.channel_id AND state <> 'done'
                ORDER BY backfill_id DESC LIMIT 1) b ON true
            LEFT JOIN LATERAL (
                SELECT k.lost_reason, k.lost_at FROM account_channels k
                JOIN telegram_accounts a USING (account_id) JOIN tenants t USING
                    (tenant_id)
                WHERE k.channel_id = s.channel_id AND k.lost_at IS NOT NULL
                    AND (a.tenant_id = s.tenant_id OR t.is_operator)
                ORDER BY k.lost_at DESC LIMIT 1) lost ON true
            WHERE s.tenant_id = current_tenant() AND s.active
                AND (only_channels IS NULL OR s.channel_id = ANY(only_channels))
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION reading_of_channels FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION reading_of_channels TO tga_tenant")


def refresh_tiers() -> None:
    """Computes what subscriptions say, for any channel: its caller learns nothing and decides nothing."""
    op.execute(
        """
        CREATE FUNCTION refresh_tiers(changed bigint[]) RETURNS void
        LANGUAGE sql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            WITH wanted AS (
                SELECT c.channel_id, (
                    SELECT s.priority FROM subscriptions s WHERE s.channel_id = c.channel_id AND s.active
                    ORDER BY array_position(ARRAY['high', 'normal', 'low'], s.priority) LIMIT 1) AS tier
                FROM unnest(changed) AS c (channel_id)
            ),
            planned AS (
                UPDATE poll_schedule p
                SET tier = coalesce(w.tier, 'low'),
                    weight = CASE w.tier WHEN 'high' THEN 4.0 WHEN 'normal' THEN 1.0 WHEN 'low' THEN 0.25
                        ELSE 0 END,
                    next_poll_at = CASE WHEN w.tier IS NULL THEN 'infinity' WHEN p.next_poll_at = 'infinity'
                        THEN now() ELSE p.next_poll_at END
                FROM wanted w WHERE p.channel_id = w.channel_id
                RETURNING p.channel_id, w.tier
            )
            UPDATE channels c SET is_active = p.tier IS NOT NULL FROM planned p
            WHERE c.channel_id = p.channel_id
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION refresh_tiers FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION refresh_tiers TO tga_tenant, tga_system")
    op.execute(
        "COMMENT ON FUNCTION refresh_tiers IS 'How soon channels are wanted, "
        "after their subscribers have changed; what nobody follows is never due.'"
    )


def release_channel() -> None:
    """Locks the schedule first, then the channel: the order in which everybody locks them."""
    op.execute(
        """
        CREATE FUNCTION release_channel(released bigint) RETURNS boolean
        LANGUAGE sql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$
            WITH due AS (
                UPDATE poll_schedule p SET next_poll_at = now(), asked_at = now()
                WHERE p.channel_id = released AND p.next_poll_at < 'infinity'
                  AND EXISTS (SELECT 1 FROM channels c
                      WHERE c.channel_id = released AND c.parked_until IS NOT NULL)
                  AND EXISTS (SELECT 1 FROM subscriptions s
                      WHERE s.tenant_id = current_tenant() AND s.channel_id = released AND s.active)
                RETURNING p.channel_id
            ),
            freed AS (
                UPDATE channels c SET parked_reason = NULL, parked_until = NULL FROM due
                WHERE c.channel_id = due.channel_id RETURNING
                    c.channel_id
            )
            SELECT EXISTS (SELECT 1 FROM freed)
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION release_channel FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION release_channel TO tga_tenant")
