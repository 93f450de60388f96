"""Requests to follow belong to their tenant, which adds and reads them itself; so does the wish to read a channel at once.

The table gets a new name and random ids, so processes of an earlier version cannot serve requests until they are replaced.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import tenant_table
from telegram_assistant.stores.postgres.migrations.functions import definer

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    requests()
    capacity()
    polling()


def requests() -> None:
    op.execute(
        """
        CREATE TABLE channel_requests (
            request_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
            tenant_id bigint DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            account_id bigint REFERENCES telegram_accounts ON DELETE CASCADE,
            kind text NOT NULL DEFAULT 'username' CHECK (kind IN ('username', 'invite', 'dialogs', 'list', 'folder', 'access')),
            reference text NOT NULL,
            reference_key text GENERATED ALWAYS AS (CASE kind WHEN 'username' THEN lower(reference) ELSE reference END) STORED,
            options jsonb NOT NULL DEFAULT '{}',
            state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'failed')),
            channel_id bigint,
            outcome text,
            progress text,
            next_try_at timestamptz NOT NULL DEFAULT now(),
            taken_at timestamptz,
            created_at timestamptz NOT NULL DEFAULT now(),
            answered_at timestamptz,
            CHECK ((tenant_id IS NULL) = (kind = 'access'))
        )
        """
    )
    op.execute("COMMENT ON COLUMN channel_requests.account_id IS 'Only this account may serve it.'")
    op.execute("COMMENT ON COLUMN channel_requests.reference_key IS 'A column, as row-level security uses no index on lower().'")
    op.execute("COMMENT ON COLUMN channel_requests.options IS 'How the channels shall be followed, as far as it was said.'")
    op.execute("COMMENT ON COLUMN channel_requests.taken_at IS 'When somebody began to serve it: turns go by it.'")
    tenant_table(
        "channel_requests",
        "Requests to follow channels, which an account or a public preview answers. Those of no tenant ask for an account''s access.",
        "SELECT",
        "INSERT (account_id, kind, reference, options, created_at)",
        "UPDATE (options)",
    )
    op.execute(
        """
        INSERT INTO channel_requests
            (tenant_id, account_id, kind, reference, options, progress, state, channel_id, outcome, next_try_at, created_at, answered_at)
        SELECT CASE WHEN subscription IS NULL THEN NULL ELSE tenant_id END, CASE WHEN subscription IS NULL OR kind = 'folder' THEN account_id END,
               CASE WHEN subscription IS NULL THEN 'access' ELSE kind END, CASE kind WHEN 'dialogs' THEN '' ELSE reference END,
               coalesce(jsonb_strip_nulls(subscription), '{}'), CASE kind WHEN 'dialogs' THEN nullif(reference, '') END,
               CASE WHEN is_double THEN 'failed' ELSE state END, channel_id, CASE WHEN is_double THEN 'asked for twice' ELSE answer END,
               next_try_at, created_at + wish_id * interval '1 microsecond', CASE WHEN is_double OR state <> 'open' THEN now() END
        FROM (
            SELECT w.*, state = 'open' AND subscription IS NOT NULL AND kind <> 'folder' AND 1 < row_number() OVER (
                PARTITION BY tenant_id, kind, state, CASE kind WHEN 'username' THEN lower(reference) WHEN 'dialogs' THEN '' ELSE reference END
                ORDER BY wish_id DESC) AS is_double
            FROM channel_wishes w) known
        """
    )
    op.execute("DROP TABLE channel_wishes")
    # One open request for each thing that is asked for, unless it is asked of a certain account.
    op.execute(
        """
        CREATE UNIQUE INDEX channel_requests_open ON channel_requests (tenant_id, kind, reference_key) WHERE state = 'open' AND account_id IS NULL
        """
    )
    op.execute("CREATE INDEX channel_requests_next ON channel_requests (coalesce(tenant_id, 0), kind, created_at, request_id) WHERE state = 'open'")
    op.execute("CREATE INDEX channel_requests_turns ON channel_requests (coalesce(tenant_id, 0), kind, taken_at) WHERE taken_at IS NOT NULL")
    op.execute("CREATE INDEX channel_requests_newest ON channel_requests (tenant_id, created_at, request_id)")
    op.execute("CREATE INDEX channel_requests_access ON channel_requests (reference, created_at) WHERE kind = 'access'")


def capacity() -> None:
    # As in the queue: a tenant's own accounts, or else the operator's.
    definer(
        "accounts_for_requests",
        "methods text[]",
        """TABLE (account_id bigint, is_own boolean, is_running boolean, method text, blocked_seconds double precision, tokens double precision[],
               tokens_age_seconds double precision, pace double precision, pace_age_seconds double precision)""",
        """
        SELECT a.account_id, a.tenant_id = current_tenant(), coalesce(a.lease_until > now(), false), l.method,
               coalesce(greatest(extract(epoch FROM l.blocked_until - now()), 0), 0)::float8, l.tokens,
               coalesce(extract(epoch FROM now() - l.tokens_at), 0)::float8, l.pace, extract(epoch FROM now() - l.paced_at)::float8
        FROM telegram_accounts a JOIN tenants t USING (tenant_id)
        LEFT JOIN account_limits l ON l.account_id = a.account_id AND l.method = ANY (methods)
        WHERE current_tenant() IS NOT NULL AND a.state = 'active' AND (a.tenant_id = current_tenant() OR t.is_operator AND NOT EXISTS (
            SELECT 1 FROM telegram_accounts o WHERE o.tenant_id = current_tenant() AND o.state = 'active'))
        """,
    )
    # Other tenants take turns only where accounts are shared: the operator's with those who have none, and previews where there is none.
    definer(
        "beside_requests",
        "",
        "TABLE (tenants bigint, has_previews boolean)",
        """
        SELECT count(DISTINCT r.tenant_id), (SELECT bool_or(p.lease_until > now()) FROM preview_reader p)
        FROM channel_requests r
        WHERE r.state = 'open' AND r.kind = 'username' AND r.tenant_id <> current_tenant()
          AND (EXISTS (SELECT 1 FROM tenants t WHERE t.tenant_id = current_tenant() AND t.is_operator) OR NOT EXISTS (
              SELECT 1 FROM telegram_accounts o WHERE o.tenant_id = current_tenant() AND o.state = 'active'))
          AND (EXISTS (SELECT 1 FROM tenants t WHERE t.tenant_id = r.tenant_id AND t.is_operator) OR NOT EXISTS (
              SELECT 1 FROM telegram_accounts o WHERE o.tenant_id = r.tenant_id AND o.state = 'active'))
        """,
    )


def polling() -> None:
    # False only where the tenant has no account at work: whether one of them could open the channel before would tell that others
    # follow it. One that cannot looks the channel up, and then reads it. What another tenant's account reads at this moment is fresh.
    definer(
        "poll_followed_channel",
        "polled bigint, mode text, comes_first boolean",
        "boolean",
        """
        WITH mine AS (
            SELECT a.account_id FROM telegram_accounts a JOIN subscriptions s USING (tenant_id)
            WHERE a.tenant_id = current_tenant() AND a.state = 'active' AND s.channel_id = polled AND s.active
        ),
        able AS (
            SELECT r.account_id FROM account_channels r JOIN mine USING (account_id)
            WHERE r.channel_id = polled AND r.lost_at IS NULL ORDER BY r.joined DESC, r.account_id LIMIT 1
        ),
        asked AS (
            UPDATE poll_schedule p SET asked_at = now(), asked_mode = mode, next_poll_at = CASE WHEN comes_first THEN 'epoch' ELSE now() END,
                account_id = CASE WHEN reader.tenant_id = current_tenant() THEN p.account_id ELSE able.account_id END
            FROM able, poll_schedule s LEFT JOIN telegram_accounts reader ON reader.account_id = s.account_id
            WHERE p.channel_id = polled AND s.channel_id = p.channel_id AND p.next_poll_at < 'infinity'
              AND (reader.tenant_id = current_tenant() OR NOT p.claimed)
            RETURNING p.channel_id
        ),
        freed AS (UPDATE channels c SET parked_reason = NULL, parked_until = NULL FROM asked WHERE c.channel_id = asked.channel_id),
        sought AS (
            INSERT INTO channel_requests (tenant_id, account_id, kind, reference)
            SELECT NULL, (SELECT min(account_id) FROM mine), 'access', c.username FROM channels c
            WHERE c.channel_id = polled AND NOT c.is_private AND c.username IS NOT NULL
              AND EXISTS (SELECT 1 FROM mine) AND NOT EXISTS (SELECT 1 FROM able) AND NOT EXISTS (
                  SELECT 1 FROM channel_requests r JOIN mine USING (account_id)
                  WHERE r.kind = 'access' AND r.reference = c.username AND r.created_at > now() - interval '1 day')
        )
        SELECT EXISTS (SELECT 1 FROM mine)
        """,
        volatility="VOLATILE",
    )
