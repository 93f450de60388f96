"""Turns of requests to follow are found by one probe of an index for each tenant and kind, however many requests there are.

Row-level security keeps the planner from using the order of an index on an expression, so tenant and "nobody" are a column.
"""

from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.execute("ALTER TABLE channel_requests ADD party bigint GENERATED ALWAYS AS (coalesce(tenant_id, 0)) STORED")
    op.execute("COMMENT ON COLUMN channel_requests.party IS 'Who takes turns: the tenant, or 0 for the access that belongs to nobody.'")
    op.execute("DROP INDEX channel_requests_next, channel_requests_turns")
    op.execute("CREATE INDEX channel_requests_next ON channel_requests (party, kind, created_at, request_id) WHERE state = 'open'")
    op.execute("CREATE INDEX channel_requests_turns ON channel_requests (party, kind, taken_at) WHERE taken_at IS NOT NULL")
    op.execute(
        """
        CREATE OR REPLACE FUNCTION beside_requests() RETURNS TABLE (tenants bigint, has_previews boolean)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
            WITH sharing AS (
                SELECT t.tenant_id FROM tenants t
                WHERE t.is_operator OR NOT EXISTS (SELECT 1 FROM telegram_accounts a WHERE a.tenant_id = t.tenant_id AND a.state = 'active')
            )
            SELECT count(*), (SELECT bool_or(p.lease_until > now()) FROM preview_reader p)
            FROM sharing s
            WHERE s.tenant_id <> current_tenant() AND EXISTS (SELECT 1 FROM sharing WHERE tenant_id = current_tenant())
              AND EXISTS (SELECT 1 FROM channel_requests r WHERE r.party = s.tenant_id AND r.kind = 'username' AND r.state = 'open' OFFSET 0)
        $$
        """
    )
