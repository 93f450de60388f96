"""The one function by which a tenant reads words: it joins the tenant's subscriptions itself and returns ids only."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    # Words are outside row-level security, which would switch their index off. So this function is the wall: it runs with
    # the owner's rights and names no channel that the tenant does not subscribe to.
    op.execute(
        """
        CREATE FUNCTION search_words(query text, most int) RETURNS TABLE (channel_id bigint, message_id bigint, posted_at timestamptz)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
            WITH wanted AS MATERIALIZED (
                SELECT f.channel_id, f.message_id, f.posted_at FROM post_search f WHERE f.words @@ websearch_to_tsquery('russian', query)
            )
            SELECT w.channel_id, w.message_id, w.posted_at FROM wanted w
            JOIN subscriptions s ON s.channel_id = w.channel_id AND s.tenant_id = current_tenant() AND s.active
            ORDER BY w.posted_at DESC, w.channel_id, w.message_id LIMIT least(most, 1000)
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION search_words(text, int) FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION search_words(text, int) TO tga_tenant")
