"""Logins from a tenant's own pages, and what the operator enters there to connect to Telegram:
sealed for ingest.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import system_table

revision = "0036"
down_revision = "0035"

OPEN = "state NOT IN ('done', 'failed', 'expired')"
INTERRUPTED = "(taken_by IS NOT NULL AND served_until < now())"
MAX_OPEN_LOGINS = 3
IS_OPERATOR = "EXISTS (SELECT 1 FROM tenants t WHERE t.tenant_id = current_tenant() AND t.is_operator)"


def upgrade() -> None:
    op.execute(
        "ALTER TABLE login_attempts ADD COLUMN answered int NOT NULL DEFAULT 0, "
        "ADD COLUMN served_until timestamptz"
    )
    op.execute("COMMENT ON COLUMN login_attempts.answered IS 'The last question that was answered.'")
    op.execute(
        "COMMENT ON COLUMN login_attempts.served_until IS 'Past: the process that serves it has died.'"
    )
    ingest_keys()
    telegram_secrets()
    for name, (signature, body) in FUNCTIONS.items():
        definer(name, signature, body)


def ingest_keys() -> None:
    op.execute(
        """
        CREATE TABLE ingest_keys (
            is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
            key_id text NOT NULL,
            public_key bytea NOT NULL,
            from_environment text[] NOT NULL,
            reported_at timestamptz NOT NULL
        )
        """
    )
    system_table(
        "ingest_keys",
        "For whom secrets of the installation are sealed, and which of them ingest has in its environment. "
        "One row.",
    )
    only_for_ingest("ingest_keys")


def telegram_secrets() -> None:
    op.execute(
        """
        CREATE TABLE telegram_secrets (
            name text PRIMARY KEY CHECK (name IN ('application', 'proxy')),
            shown text NOT NULL,
            key_id text NOT NULL,
            sealed bytea NOT NULL,
            entered_by text NOT NULL,
            entered_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )
    system_table(
        "telegram_secrets",
        "What the operator has entered to connect to Telegram: what may be shown, and the secret, "
        "sealed for ingest.",
    )
    only_for_ingest("telegram_secrets")


def only_for_ingest(table: str) -> None:
    op.execute(f"REVOKE ALL ON {table} FROM tga_system")
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO tga_ingest")


FUNCTIONS = {
    "begin_login": (
        "(attempt uuid, wanted_way text, key bytea, lasts interval) RETURNS boolean",
        f"""
        INSERT INTO login_attempts (attempt_id, tenant_id, expires_at, way, door_key)
        SELECT attempt, current_tenant(), now() + lasts, wanted_way, key
        WHERE current_tenant() IS NOT NULL AND {MAX_OPEN_LOGINS} > (
            SELECT count(*) FROM login_attempts
            WHERE tenant_id = current_tenant() AND expires_at > now() AND {OPEN}
                AND {INTERRUPTED} IS NOT TRUE)
        RETURNING true
        """,
    ),
    "find_login": (
        """
        (wanted uuid) RETURNS TABLE(attempt_id uuid, tenant_id bigint, account_id bigint, phone_masked text,
            way text, state text, question int, answered int, public_key bytea, shown bytea, error text,
            created_at timestamptz, expires_at timestamptz, is_interrupted boolean)
        """,
        f"""
        SELECT l.attempt_id, l.tenant_id, l.account_id, a.phone_masked, l.way,
               CASE WHEN l.expires_at < now() AND l.{OPEN} THEN 'expired' ELSE l.state END,
               l.question, l.answered, l.public_key, l.shown, l.error, l.created_at, l.expires_at,
               l.expires_at > now() AND l.{OPEN} AND l.taken_by IS NOT NULL
                   AND coalesce(l.served_until < now(), false)
        FROM login_attempts l LEFT JOIN telegram_accounts a USING (account_id)
        WHERE l.tenant_id = current_tenant() AND (wanted IS NULL OR l.attempt_id = wanted)
        ORDER BY l.created_at DESC LIMIT 1
        """,
    ),
    "answer_login": (
        "(wanted uuid, asked int, given bytea) RETURNS boolean",
        f"""
        UPDATE login_attempts SET answer = given, answered = asked
        WHERE attempt_id = wanted AND tenant_id = current_tenant() AND question = asked AND answered < asked
            AND expires_at > now() AND {OPEN}
        RETURNING true
        """,
    ),
    "give_up_login": (
        "(wanted uuid, why text) RETURNS boolean",
        f"""
        UPDATE login_attempts SET state = 'failed', error = why, answer = NULL, shown = NULL
        WHERE attempt_id = wanted AND tenant_id = current_tenant() AND {OPEN} RETURNING true
        """,
    ),
    "telegram_setup": (
        (
            "() RETURNS TABLE(key_id text, public_key bytea, from_environment text[], "
            "reported_at timestamptz, entered jsonb)"
        ),
        f"""
        SELECT k.key_id, k.public_key, k.from_environment, k.reported_at, (
            SELECT coalesce(jsonb_agg(jsonb_build_object(
                'name', s.name, 'shown', CASE WHEN {IS_OPERATOR} THEN s.shown ELSE '' END,
                'entered_by', CASE WHEN {IS_OPERATOR} THEN s.entered_by ELSE '' END, 'entered_at',
                s.entered_at) ORDER BY s.name), '[]')
            FROM telegram_secrets s)
        FROM (SELECT current_tenant() AS tenant_id) one LEFT JOIN ingest_keys k ON true
        WHERE one.tenant_id IS NOT NULL
        """,
    ),
    "enter_telegram_secret": (
        "(secret text, visible text, key text, content bytea, author text) RETURNS boolean",
        f"""
        INSERT INTO telegram_secrets (name, shown, key_id, sealed, entered_by)
        SELECT secret, visible, key, content, author WHERE {IS_OPERATOR}
        ON CONFLICT (name) DO UPDATE SET shown = excluded.shown, key_id = excluded.key_id,
            sealed = excluded.sealed,
            entered_by = excluded.entered_by, entered_at = now()
        RETURNING true
        """,
    ),
    "forget_telegram_secret": (
        "(secret text) RETURNS boolean",
        f"DELETE FROM telegram_secrets WHERE name = secret AND {IS_OPERATOR} RETURNING true",
    ),
}
"""For one tenant.

Secrets of the installation are entered by the operator's tenant only, and no function returns one.
"""


def definer(name: str, signature: str, body: str) -> None:
    rights = "SECURITY DEFINER SET search_path TO 'public', 'pg_temp'"
    op.execute(
        f"CREATE FUNCTION {name}{signature} LANGUAGE sql VOLATILE {rights} AS $function${body}$function$"
    )
    op.execute(f"REVOKE ALL ON FUNCTION {name} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {name} TO tga_tenant")
