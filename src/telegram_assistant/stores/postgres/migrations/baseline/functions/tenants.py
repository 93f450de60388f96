"""Functions for authentication, and for what the operator does with tenants."""

from alembic import op


def create() -> None:
    find_caller()
    find_operator()
    keep_tenant_suspended()
    operator_create_tenant()
    operator_resume_tenant()
    operator_set_budget()
    operator_set_media_quota()
    operator_suspend_tenant()
    operator_tenants()
    schema_revision()


def find_caller() -> None:
    op.execute(
        """
        CREATE FUNCTION find_caller(key_hash bytea) RETURNS TABLE(key_id uuid, tenant_id bigint,
            scopes text[], user_id bigint, key_name text,
            public_id uuid, tenant_name text, is_operator boolean, expires_at timestamptz,
            is_suspended boolean, suspended_reason text,
            user_name text, role text)
        LANGUAGE sql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            WITH found AS (
                SELECT k.key_id, k.tenant_id, k.scopes, k.user_id, k.name, t.public_id, t.name AS tenant_name,
                    t.is_operator,
                       k.expires_at, t.suspended_at IS NOT NULL AS is_suspended, t.suspended_reason,
                       u.name AS user_name, m.role
                FROM api_keys k JOIN tenants t USING (tenant_id)
                LEFT JOIN users u ON u.user_id = k.user_id
                LEFT JOIN memberships m ON m.tenant_id = k.tenant_id AND m.user_id = k.user_id
                WHERE k.hash = key_hash AND k.revoked_at IS NULL
                    AND (k.expires_at IS NULL OR k.expires_at > now())
                  AND (k.user_id IS NULL OR m.role IS NOT NULL)
                  AND NOT EXISTS (
                      SELECT 1 FROM api_keys a WHERE a.key_id = ANY(k.ancestors)
                          AND (a.revoked_at IS NOT NULL OR a.expires_at <= now()))
            ),
            used AS (
                UPDATE api_keys k SET last_used_at = now() FROM found
                WHERE NOT found.is_suspended AND k.hash = key_hash
                    AND (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute')
            )
            SELECT * FROM found
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION find_caller FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION find_caller TO tga_api")


def find_operator() -> None:
    op.execute(
        """
        CREATE FUNCTION find_operator() RETURNS TABLE(tenant_id bigint, public_id uuid, name text)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$ SELECT t.tenant_id, t.public_id, t.name FROM tenants t WHERE t.is_operator
            ORDER BY t.tenant_id LIMIT 1 $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION find_operator FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION find_operator TO tga_api")


def keep_tenant_suspended() -> None:
    """A subscription that is made for a suspended tenant (by a waiting request or
    a folder) stays inactive until the tenant is resumed.
    """
    op.execute(
        """
        CREATE FUNCTION keep_tenant_suspended() RETURNS trigger
        LANGUAGE plpgsql
        AS $$
            BEGIN
                IF NEW.active AND EXISTS (SELECT 1 FROM tenants t
                    WHERE t.tenant_id = NEW.tenant_id AND t.suspended_at IS NOT NULL) THEN
                    NEW.active := false;
                    NEW.suspended_reason := 'the tenant is suspended';
                END IF;
                RETURN NEW;
            END
        $$
        """
    )


def operator_create_tenant() -> None:
    op.execute(
        """
        CREATE FUNCTION operator_create_tenant(new_name text) RETURNS uuid
        LANGUAGE sql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$ INSERT INTO tenants (name) VALUES (new_name) ON CONFLICT (name) DO NOTHING
            RETURNING public_id $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION operator_create_tenant FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION operator_create_tenant TO tga_api")


def operator_resume_tenant() -> None:
    op.execute(
        """
        CREATE FUNCTION operator_resume_tenant(resumed uuid) RETURNS boolean
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            DECLARE
                tenant bigint;
                followed bigint[];
            BEGIN
                UPDATE tenants SET suspended_at = NULL, suspended_reason = NULL WHERE public_id = resumed
                    RETURNING tenant_id INTO tenant;
                IF tenant IS NULL THEN
                    RETURN false;
                END IF;
                UPDATE telegram_accounts SET state = 'active', state_reason = NULL
                WHERE tenant_id = tenant AND state = 'paused' AND state_reason = 'the tenant is suspended';
                followed := ARRAY(
                    SELECT channel_id FROM subscriptions
                    WHERE tenant_id = tenant AND suspended_reason = 'the tenant is suspended'
                        ORDER BY channel_id
                );
                UPDATE subscriptions SET active = true, suspended_reason = NULL
                WHERE tenant_id = tenant AND suspended_reason = 'the tenant is suspended';
                PERFORM refresh_tiers(followed);
                RETURN true;
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION operator_resume_tenant FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION operator_resume_tenant TO tga_api")


def operator_set_budget() -> None:
    op.execute(
        """
        CREATE FUNCTION operator_set_budget(tenant uuid, micro bigint, most_tokens bigint) RETURNS boolean
        LANGUAGE sql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            WITH kept AS (
                INSERT INTO budgets (tenant_id, money_micro, tokens, month)
                SELECT t.tenant_id, micro, most_tokens, date_trunc('month', now() AT TIME ZONE 'UTC')::date
                FROM tenants t WHERE
                    t.public_id = tenant
                ON CONFLICT (tenant_id) DO UPDATE SET money_micro = excluded.money_micro,
                    tokens = excluded.tokens, updated_at = now() RETURNING 1
            )
            SELECT EXISTS (SELECT 1 FROM kept)
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION operator_set_budget FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION operator_set_budget TO tga_api")


def operator_set_media_quota() -> None:
    op.execute(
        """
        CREATE FUNCTION operator_set_media_quota(tenant uuid, limit_bytes bigint) RETURNS boolean
        LANGUAGE sql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            WITH kept AS (
                INSERT INTO quotas (tenant_id, media_bytes_limit) SELECT t.tenant_id, limit_bytes
                FROM tenants t WHERE t.public_id = tenant
                ON CONFLICT (tenant_id) DO UPDATE SET media_bytes_limit = excluded.media_bytes_limit
                    RETURNING 1
            )
            SELECT EXISTS (SELECT 1 FROM kept)
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION operator_set_media_quota FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION operator_set_media_quota TO tga_api")


def operator_suspend_tenant() -> None:
    """Locks the schedule first, then the channels: the order in which everybody locks them."""
    op.execute(
        """
        CREATE FUNCTION operator_suspend_tenant(suspended uuid, why text) RETURNS boolean
        LANGUAGE plpgsql SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            DECLARE
                tenant bigint;
                followed bigint[];
            BEGIN
                UPDATE tenants SET suspended_at = coalesce(suspended_at, now()), suspended_reason = why
                WHERE public_id = suspended AND NOT is_operator RETURNING tenant_id INTO tenant;
                IF tenant IS NULL THEN
                    RETURN false;
                END IF;
                UPDATE telegram_accounts SET state = 'paused', state_reason = 'the tenant is suspended'
                WHERE tenant_id = tenant AND
                    state = 'active';
                followed := ARRAY(SELECT channel_id FROM subscriptions WHERE tenant_id = tenant AND active
                    ORDER BY channel_id);
                UPDATE subscriptions SET active = false, suspended_reason = 'the tenant is suspended'
                WHERE tenant_id = tenant AND active;
                PERFORM refresh_tiers(followed);
                RETURN true;
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION operator_suspend_tenant FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION operator_suspend_tenant TO tga_api")


def operator_tenants() -> None:
    op.execute(
        """
        CREATE FUNCTION operator_tenants(only_tenant uuid, after_name text,
            most integer) RETURNS TABLE(tenant_id bigint, public_id uuid, name
            text, is_operator boolean, created_at timestamptz, suspended_at timestamptz,
            suspended_reason text, channels bigint, accounts
            bigint, keys bigint, media_bytes bigint, media_bytes_limit bigint, budget_micro bigint,
            budget_tokens bigint, used_micro bigint,
            used_tokens bigint)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            SELECT t.tenant_id, t.public_id, t.name, t.is_operator, t.created_at, t.suspended_at,
                t.suspended_reason,
                   (SELECT count(*) FROM subscriptions s WHERE s.tenant_id = t.tenant_id),
                   (SELECT count(*) FROM telegram_accounts a WHERE a.tenant_id = t.tenant_id),
                   (SELECT count(*) FROM api_keys k
                    WHERE k.tenant_id = t.tenant_id AND k.revoked_at IS NULL
                        AND (k.expires_at IS NULL OR k.expires_at > now())),
                   coalesce(q.media_bytes, 0), q.media_bytes_limit, b.money_micro, b.tokens,
                   CASE WHEN b.month = date_trunc('month', now() AT TIME ZONE 'UTC')::date THEN b.used_micro
                       ELSE 0 END,
                   CASE WHEN b.month = date_trunc('month', now() AT TIME ZONE 'UTC')::date THEN b.used_tokens
                       ELSE 0 END
            FROM tenants t LEFT JOIN quotas q ON q.tenant_id = t.tenant_id LEFT
            JOIN budgets b ON b.tenant_id = t.tenant_id
            WHERE (only_tenant IS NULL OR t.public_id = only_tenant)
                AND (after_name IS NULL OR t.name > after_name)
            ORDER BY t.name LIMIT most
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION operator_tenants FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION operator_tenants TO tga_api")


def schema_revision() -> None:
    op.execute(
        """
        CREATE FUNCTION schema_revision() RETURNS text
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$ SELECT version_num FROM alembic_version $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION schema_revision FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION schema_revision TO tga_system, tga_api")
