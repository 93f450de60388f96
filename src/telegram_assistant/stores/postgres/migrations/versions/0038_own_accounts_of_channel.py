"""Which of a tenant's own accounts can open a channel that it follows."""

from alembic import op

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    """Says nothing about when an account read the channel, nor about the accounts of others:
    who reads it depends on other tenants.
    """
    op.execute(
        """
        CREATE FUNCTION own_accounts_of_channel(followed_channel bigint) RETURNS TABLE(public_id uuid,
            phone_masked text, state text,
            joined boolean, lost_at timestamptz, lost_reason text)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
        AS $$
            SELECT a.public_id, a.phone_masked, a.state, k.joined, k.lost_at, k.lost_reason
            FROM subscriptions s JOIN account_channels k ON k.channel_id = s.channel_id
            JOIN telegram_accounts a ON a.account_id = k.account_id AND a.tenant_id = s.tenant_id
            WHERE s.tenant_id = current_tenant() AND s.channel_id = followed_channel AND s.active
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION own_accounts_of_channel FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION own_accounts_of_channel TO tga_tenant")
