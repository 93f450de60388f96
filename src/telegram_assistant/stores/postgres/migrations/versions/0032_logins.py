"""Logins of their own for requests, for the worker and for ingest: who may read sessions, and what requests may do outside a tenant."""

from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    schema()
    sessions()
    callers()
    operating()
    following()
    questions()
    usage()


def definer(name: str, parameters: str, returns: str, body: str, *roles: str, language: str = "sql", volatility: str = "VOLATILE") -> None:
    """A function that runs with its owner's rights, for these roles only."""
    op.execute(
        f"""
        CREATE FUNCTION {name}({parameters}) RETURNS {returns}
        LANGUAGE {language} {volatility} SECURITY DEFINER SET search_path = public, pg_temp AS $$ {body} $$
        """
    )
    op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {name} TO {', '.join(roles)}")


def schema() -> None:
    definer("schema_revision", "", "text", "SELECT version_num FROM alembic_version", "tga_api", "tga_system", volatility="STABLE")


def sessions() -> None:
    """A session is a full login. What answers a login is sealed for ingest, with a key that only ingest may write down."""
    readable_but("telegram_accounts", "session")
    op.execute("GRANT SELECT ON telegram_accounts TO tga_ingest")
    op.execute("REVOKE INSERT, UPDATE, DELETE ON login_attempts FROM tga_system")
    readable_but("login_attempts", "answer")
    op.execute("GRANT INSERT (tenant_id, expires_at, way, door_key), UPDATE (state, error, answer, shown) ON login_attempts TO tga_system")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON login_attempts TO tga_ingest")


def readable_but(table: str, sealed: str) -> None:
    op.execute(f"REVOKE SELECT ON {table} FROM tga_system")
    op.execute(
        f"""
        DO $$
        BEGIN
            EXECUTE (
                SELECT format('GRANT SELECT (%s) ON {table} TO tga_system', string_agg(quote_ident(attname), ', ' ORDER BY attnum))
                FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped AND attname <> '{sealed}');
        END $$
        """
    )


def callers() -> None:
    definer(
        "find_caller",
        "key_hash bytea",
        """TABLE (key_id uuid, tenant_id bigint, scopes text[], user_id bigint, key_name text, public_id uuid, tenant_name text,
               is_operator boolean, expires_at timestamptz, is_suspended boolean, suspended_reason text, user_name text, role text)""",
        """
        WITH found AS (
            SELECT k.key_id, k.tenant_id, k.scopes, k.user_id, k.name, t.public_id, t.name AS tenant_name, t.is_operator,
                   k.expires_at, t.suspended_at IS NOT NULL AS is_suspended, t.suspended_reason, u.name AS user_name, m.role
            FROM api_keys k JOIN tenants t USING (tenant_id)
            LEFT JOIN users u ON u.user_id = k.user_id
            LEFT JOIN memberships m ON m.tenant_id = k.tenant_id AND m.user_id = k.user_id
            WHERE k.hash = key_hash AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
              AND (k.user_id IS NULL OR m.role IS NOT NULL)
              AND NOT EXISTS (
                  SELECT 1 FROM api_keys a WHERE a.key_id = ANY(k.ancestors) AND (a.revoked_at IS NOT NULL OR a.expires_at <= now()))
        ),
        used AS (
            UPDATE api_keys k SET last_used_at = now() FROM found
            WHERE NOT found.is_suspended AND k.hash = key_hash AND (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute')
        )
        SELECT * FROM found
        """,
        "tga_api",
    )
    definer(
        "find_operator",
        "",
        "TABLE (tenant_id bigint, public_id uuid, name text)",
        "SELECT t.tenant_id, t.public_id, t.name FROM tenants t WHERE t.is_operator ORDER BY t.tenant_id LIMIT 1",
        "tga_api",
        volatility="STABLE",
    )


def operating() -> None:
    """What the operator does over the API."""
    both = ("tga_api", "tga_system")
    for name in ("tenants", "create_tenant", "suspend_tenant", "resume_tenant", "set_media_quota", "set_budget"):
        op.execute(f"GRANT EXECUTE ON FUNCTION operator_{name} TO tga_api")
        op.execute(f"REVOKE EXECUTE ON FUNCTION operator_{name} FROM tga_system")
    definer(
        "list_dead_letters",
        "only_stage text, before bigint, most int",
        "SETOF dead_letters",
        """
        SELECT * FROM dead_letters WHERE (only_stage IS NULL OR stage = only_stage) AND (before IS NULL OR dead_letter_id < before)
        ORDER BY dead_letter_id DESC LIMIT most
        """,
        *both,
        volatility="STABLE",
    )
    definer(
        "find_dead_letter",
        "number bigint",
        "SETOF dead_letters",
        "SELECT * FROM dead_letters WHERE dead_letter_id = number",
        *both,
        volatility="STABLE",
    )
    # A revision that is given up is not announced again.
    definer(
        "remove_dead_letter",
        "number bigint, given_up_revision int",
        "void",
        """
        WITH removed AS (DELETE FROM dead_letters WHERE dead_letter_id = number RETURNING channel_id, message_id)
        DELETE FROM outbox o USING removed r
        WHERE o.channel_id = r.channel_id AND o.message_id = r.message_id AND o.revision <= given_up_revision
        """,
        *both,
    )


def following() -> None:
    # It computes what subscriptions say, for any channel: who calls it learns nothing and decides nothing.
    op.execute("ALTER FUNCTION refresh_tiers SECURITY DEFINER SET search_path = public, pg_temp")
    op.execute("REVOKE ALL ON FUNCTION refresh_tiers FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION refresh_tiers TO tga_tenant, tga_system")
    op.execute("GRANT UPDATE (from_folder) ON subscriptions TO tga_tenant")


def questions() -> None:
    """What a tenant's own questions cost: one payer, and never more than its budget."""
    month = "date_trunc('month', now() AT TIME ZONE 'UTC')::date"
    definer(
        "reserve_for_question",
        """call uuid, payer bigint, highest_micro bigint, highest_tokens bigint, call_work text, call_purpose text, call_provider text,
           call_model text, lifetime interval""",
        "boolean",
        f"""
        DECLARE
            micro bigint := greatest(highest_micro, 0);
            spent_tokens bigint := greatest(highest_tokens, 0);
            budget budgets;
        BEGIN
            SELECT * INTO budget FROM budgets WHERE tenant_id = payer FOR UPDATE;
            IF budget.month IS DISTINCT FROM {month} THEN
                budget.used_micro := 0;
                budget.used_tokens := 0;
            END IF;
            IF coalesce(budget.money_micro - budget.used_micro, 0) < micro OR budget.tokens - budget.used_tokens < spent_tokens THEN
                RETURN false;
            END IF;
            UPDATE budgets b SET month = {month}, used_micro = budget.used_micro + micro, used_tokens = budget.used_tokens + spent_tokens
            WHERE b.tenant_id = payer;
            INSERT INTO budget_reservations (call_id, tenant_id, month, micro, tokens, work, purpose, provider, model, expires_at)
            VALUES (call, payer, {month}, micro, spent_tokens, call_work, call_purpose, call_provider, call_model, now() + lifetime);
            RETURN true;
        END
        """,
        "tga_api",
        language="plpgsql",
    )
    # Without a status nothing was sent: all of it goes back, and the ledger hears nothing of it.
    definer(
        "settle_question",
        "call uuid, call_status text, real_micro bigint, real_tokens bigint, sent_tokens bigint, received_tokens bigint, took_ms int",
        "void",
        """
        WITH reserved AS (DELETE FROM budget_reservations WHERE call_id = call RETURNING *),
        given_back AS (
            UPDATE budgets b
            SET used_micro = b.used_micro - r.micro + greatest(real_micro, 0), used_tokens = b.used_tokens - r.tokens + greatest(real_tokens, 0)
            FROM reserved r WHERE b.tenant_id = r.tenant_id AND b.month = r.month
        )
        INSERT INTO usage (call_id, tenant_id, micro, tokens, work, purpose, provider, model, status, call_sent_tokens, call_received_tokens,
                           call_micro, payers, latency_ms)
        SELECT call_id, tenant_id, greatest(real_micro, 0), greatest(real_tokens, 0), work, purpose, provider, model, call_status, sent_tokens,
               received_tokens, greatest(real_micro, 0), 1, took_ms
        FROM reserved WHERE call_status IS NOT NULL
        """,
        "tga_api",
    )


def usage() -> None:
    # What the whole call took and how many pay for it would tell a tenant of the others.
    op.execute("REVOKE SELECT ON usage FROM tga_tenant")
    op.execute("GRANT SELECT (at, call_id, tenant_id, work, purpose, provider, model, status, micro, tokens, latency_ms) ON usage TO tga_tenant")
