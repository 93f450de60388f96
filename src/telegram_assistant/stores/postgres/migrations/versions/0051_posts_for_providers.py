"""Which channels' posts a tenant may send to a provider at its own cost."""

from alembic import op

revision = "0051"
down_revision = "0050"


def upgrade() -> None:
    """A private channel needs the agreement of everybody who follows it;
    what others have chosen is not revealed beyond that.
    """
    op.execute(
        """
        CREATE FUNCTION channels_for_provider(wanted bigint[]) RETURNS SETOF bigint
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            SELECT c.channel_id FROM channels c JOIN subscriptions s ON s.channel_id = c.channel_id
            WHERE c.channel_id = ANY (wanted) AND s.tenant_id = current_tenant() AND s.active
                AND s.ai_policy = 'provider'
              AND EXISTS (SELECT 1 FROM ai_consents k WHERE k.tenant_id = s.tenant_id)
              AND NOT c.protected AND NOT c.ai_blocked
              AND (NOT c.is_private OR NOT EXISTS (
                  SELECT 1 FROM subscriptions o WHERE o.channel_id = c.channel_id AND o.active
                    AND (o.ai_policy <> 'provider' OR NOT EXISTS (SELECT 1 FROM ai_consents k
                        WHERE k.tenant_id = o.tenant_id))))
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION channels_for_provider FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION channels_for_provider TO tga_tenant")
