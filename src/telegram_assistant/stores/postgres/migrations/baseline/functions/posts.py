"""Functions about posts."""

from alembic import op


def create() -> None:
    revisions_before()


def revisions_before() -> None:
    """A post that was edited before the tenant followed its channel is new to it:
    its first revision is the one that it met.
    """
    op.execute(
        """
        CREATE FUNCTION revisions_before(channel bigint, message bigint) RETURNS integer
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_custom_plan'
        AS $$
            SELECT coalesce(max(v.revision), 0) FROM subscriptions s
            JOIN post_versions v ON v.channel_id = s.channel_id
            WHERE s.tenant_id = current_tenant() AND s.active AND s.channel_id = channel
                AND v.message_id = message AND v.replaced_at <
                s.created_at
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION revisions_before FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION revisions_before TO tga_tenant")
