"""The looks of the pictures of a tenant's posts, and the words in them: copies of a picture are shown once.

The function runs with the owner's rights, because files and what was seen in them belong to no tenant. It
tells of pictures that the tenant's own posts show: of active subscriptions since `visible_from`, not deleted
before it followed, where the tenant lets pictures be read.
"""

from alembic import op

revision = "0057"
down_revision = "0056"


def upgrade() -> None:
    op.execute(
        """
        CREATE FUNCTION read_pictures(channels bigint[], messages bigint[])
            RETURNS TABLE(sha256 bytea, phash bigint, phash_fine bytea, words text)
        LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp'
            SET plan_cache_mode TO 'force_generic_plan'
        AS $$
            #variable_conflict use_column
            BEGIN
            RETURN QUERY
            SELECT o.sha256, o.phash, o.phash_fine, coalesce(r.data ->> 'text', '')
            FROM media_objects o JOIN media_results r ON r.sha256 = o.sha256 AND r.tier = 'local'
            WHERE o.phash IS NOT NULL AND o.phash_fine IS NOT NULL AND o.sha256 IN (
                SELECT f.sha256 FROM unnest(channels, messages) AS w(channel_id, message_id)
                JOIN subscriptions s ON s.tenant_id = current_tenant() AND s.channel_id = w.channel_id
                    AND s.active AND s.ai_policy <> 'off'
                CROSS JOIN LATERAL (
                    SELECT m.sha256 FROM post_media m
                    WHERE m.channel_id = w.channel_id AND m.message_id = w.message_id AND m.state = 'stored'
                        AND m.kind = 'photo' OFFSET 0) f
                WHERE EXISTS (SELECT 1 FROM posts p
                    WHERE p.channel_id = w.channel_id AND p.message_id = w.message_id
                              AND p.posted_at >= s.visible_from
                                  AND (p.deleted_at IS NULL OR p.deleted_at >= s.created_at) OFFSET 0));
            END
        $$
        """
    )
    op.execute("REVOKE ALL ON FUNCTION read_pictures FROM PUBLIC")
    op.execute("GRANT EXECUTE ON FUNCTION read_pictures TO tga_tenant")
