"""What the operator does with tenants: list, create, suspend, resume, quotas, budgets.

Each is a function with its owner's rights, so that whoever may call it need not see a table of all tenants.
"""

from alembic import op

revision = "0024"
down_revision = "0023"

CALLERS = "tga_system"
SUSPENDED = "the tenant is suspended"
"""The reason by which a subscription or account is known again when its tenant is resumed."""


def upgrade() -> None:
    op.execute("ALTER TABLE tenants ADD suspended_at timestamptz, ADD suspended_reason text")
    tiers()
    suspending()
    operations()


def operation(name: str, parameters: str, returns: str, body: str, *, language: str = "sql", volatility: str = "VOLATILE") -> None:
    op.execute(
        f"""
        CREATE FUNCTION {name}({parameters}) RETURNS {returns}
        LANGUAGE {language} {volatility} SECURITY DEFINER SET search_path = public, pg_temp AS $$ {body} $$
        """
    )
    op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {name} TO {CALLERS}")


def tiers() -> None:
    # First the schedule, then the channel: the order in which everybody locks them.
    op.execute(
        """
        CREATE FUNCTION refresh_tiers(changed bigint[]) RETURNS void LANGUAGE sql AS $$
        WITH wanted AS (
            SELECT c.channel_id, (
                SELECT s.priority FROM subscriptions s WHERE s.channel_id = c.channel_id AND s.active
                ORDER BY array_position(ARRAY['high', 'normal', 'low'], s.priority) LIMIT 1) AS tier
            FROM unnest(changed) AS c (channel_id)
        ),
        planned AS (
            UPDATE poll_schedule p
            SET tier = coalesce(w.tier, 'low'),
                weight = CASE w.tier WHEN 'high' THEN 4.0 WHEN 'normal' THEN 1.0 WHEN 'low' THEN 0.25 ELSE 0 END,
                next_poll_at = CASE WHEN w.tier IS NULL THEN 'infinity' WHEN p.next_poll_at = 'infinity' THEN now() ELSE p.next_poll_at END
            FROM wanted w WHERE p.channel_id = w.channel_id
            RETURNING p.channel_id, w.tier
        )
        UPDATE channels c SET is_active = p.tier IS NOT NULL FROM planned p WHERE c.channel_id = p.channel_id
        $$
        """
    )
    op.execute(
        "COMMENT ON FUNCTION refresh_tiers IS 'How soon channels are wanted, after their subscribers have changed; what nobody follows is never due.'"
    )


def suspending() -> None:
    # Whoever follows a channel for a suspended tenant meanwhile (a request that was waiting, a folder) leaves it for later.
    op.execute(
        f"""
        CREATE FUNCTION keep_tenant_suspended() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.active AND EXISTS (SELECT 1 FROM tenants t WHERE t.tenant_id = NEW.tenant_id AND t.suspended_at IS NOT NULL) THEN
                NEW.active := false;
                NEW.suspended_reason := '{SUSPENDED}';
            END IF;
            RETURN NEW;
        END $$
        """
    )
    op.execute(
        """
        CREATE TRIGGER keep_tenant_suspended BEFORE INSERT OR UPDATE OF active ON subscriptions
        FOR EACH ROW EXECUTE FUNCTION keep_tenant_suspended()
        """
    )
    operation(
        "operator_suspend_tenant",
        "suspended uuid, why text",
        "boolean",
        f"""
        DECLARE
            tenant bigint;
            followed bigint[];
        BEGIN
            UPDATE tenants SET suspended_at = coalesce(suspended_at, now()), suspended_reason = why
            WHERE public_id = suspended AND NOT is_operator RETURNING tenant_id INTO tenant;
            IF tenant IS NULL THEN
                RETURN false;
            END IF;
            UPDATE telegram_accounts SET state = 'paused', state_reason = '{SUSPENDED}' WHERE tenant_id = tenant AND state = 'active';
            followed := ARRAY(SELECT channel_id FROM subscriptions WHERE tenant_id = tenant AND active ORDER BY channel_id);
            UPDATE subscriptions SET active = false, suspended_reason = '{SUSPENDED}' WHERE tenant_id = tenant AND active;
            PERFORM refresh_tiers(followed);
            RETURN true;
        END
        """,
        language="plpgsql",
    )
    operation(
        "operator_resume_tenant",
        "resumed uuid",
        "boolean",
        f"""
        DECLARE
            tenant bigint;
            followed bigint[];
        BEGIN
            UPDATE tenants SET suspended_at = NULL, suspended_reason = NULL WHERE public_id = resumed RETURNING tenant_id INTO tenant;
            IF tenant IS NULL THEN
                RETURN false;
            END IF;
            UPDATE telegram_accounts SET state = 'active', state_reason = NULL
            WHERE tenant_id = tenant AND state = 'paused' AND state_reason = '{SUSPENDED}';
            followed := ARRAY(SELECT channel_id FROM subscriptions WHERE tenant_id = tenant AND suspended_reason = '{SUSPENDED}' ORDER BY channel_id);
            UPDATE subscriptions SET active = true, suspended_reason = NULL WHERE tenant_id = tenant AND suspended_reason = '{SUSPENDED}';
            PERFORM refresh_tiers(followed);
            RETURN true;
        END
        """,
        language="plpgsql",
    )


def operations() -> None:
    operation(
        "operator_tenants",
        "only_tenant uuid, after_name text, most int",
        """TABLE (tenant_id bigint, public_id uuid, name text, is_operator boolean, created_at timestamptz, suspended_at timestamptz,
               suspended_reason text, channels bigint, accounts bigint, keys bigint, media_bytes bigint, media_bytes_limit bigint,
               budget_micro bigint, budget_tokens bigint, used_micro bigint, used_tokens bigint)""",
        """
        SELECT t.tenant_id, t.public_id, t.name, t.is_operator, t.created_at, t.suspended_at, t.suspended_reason,
               (SELECT count(*) FROM subscriptions s WHERE s.tenant_id = t.tenant_id),
               (SELECT count(*) FROM telegram_accounts a WHERE a.tenant_id = t.tenant_id),
               (SELECT count(*) FROM api_keys k
                WHERE k.tenant_id = t.tenant_id AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())),
               coalesce(q.media_bytes, 0), q.media_bytes_limit, b.money_micro, b.tokens,
               CASE WHEN b.month = date_trunc('month', now() AT TIME ZONE 'UTC')::date THEN b.used_micro ELSE 0 END,
               CASE WHEN b.month = date_trunc('month', now() AT TIME ZONE 'UTC')::date THEN b.used_tokens ELSE 0 END
        FROM tenants t LEFT JOIN quotas q ON q.tenant_id = t.tenant_id LEFT JOIN budgets b ON b.tenant_id = t.tenant_id
        WHERE (only_tenant IS NULL OR t.public_id = only_tenant) AND (after_name IS NULL OR t.name > after_name)
        ORDER BY t.name LIMIT most
        """,
        volatility="STABLE",
    )
    operation(
        "operator_create_tenant",
        "new_name text",
        "uuid",
        "INSERT INTO tenants (name) VALUES (new_name) ON CONFLICT (name) DO NOTHING RETURNING public_id",
    )
    operation(
        "operator_set_media_quota",
        "tenant uuid, limit_bytes bigint",
        "boolean",
        """
        WITH kept AS (
            INSERT INTO quotas (tenant_id, media_bytes_limit) SELECT t.tenant_id, limit_bytes FROM tenants t WHERE t.public_id = tenant
            ON CONFLICT (tenant_id) DO UPDATE SET media_bytes_limit = excluded.media_bytes_limit RETURNING 1
        )
        SELECT EXISTS (SELECT 1 FROM kept)
        """,
    )
    operation(
        "operator_set_budget",
        "tenant uuid, micro bigint, most_tokens bigint",
        "boolean",
        """
        WITH kept AS (
            INSERT INTO budgets (tenant_id, money_micro, tokens, month)
            SELECT t.tenant_id, micro, most_tokens, date_trunc('month', now() AT TIME ZONE 'UTC')::date FROM tenants t WHERE t.public_id = tenant
            ON CONFLICT (tenant_id) DO UPDATE SET money_micro = excluded.money_micro, tokens = excluded.tokens, updated_at = now() RETURNING 1
        )
        SELECT EXISTS (SELECT 1 FROM kept)
        """,
    )
