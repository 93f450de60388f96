"""One alert per story: what a post is about, as far as alerts count it once,
is what the first post of its story is about.
"""

from alembic import op

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    """The first post decides by its words if it has enough of them, otherwise by its album or itself.

    Posts of private channels decide nothing.
    """
    op.execute(
        """
        CREATE OR REPLACE FUNCTION subject_of(words tsvector, channel_id bigint, message_id bigint,
            grouped_id bigint) RETURNS text
        LANGUAGE sql STABLE PARALLEL SAFE
        AS $$
            WITH of_story AS (
                SELECT to_tsvector('russian', p.text) AS words, p.channel_id, p.message_id, p.grouped_id
                FROM (
                    SELECT m.channel_id, m.message_id FROM story_posts s
                    JOIN story_posts m ON m.story_id = s.story_id
                    WHERE s.channel_id = $2 AND s.message_id = $3 AND s.link IS NOT NULL
                        AND (m.channel_id = $2 OR NOT EXISTS (
                        SELECT 1 FROM channels c WHERE c.channel_id = m.channel_id AND c.is_private))
                    ORDER BY m.posted_at, m.channel_id, m.message_id LIMIT 1
                ) m JOIN posts p ON p.channel_id = m.channel_id AND p.message_id = m.message_id
            ),
            deciding AS (
                SELECT * FROM of_story UNION ALL SELECT $1, $2, $3, $4
                WHERE NOT EXISTS (SELECT 1 FROM of_story)
            )
            SELECT CASE
                WHEN length(d.words) >= 8 THEN 'text:'
                    || encode(sha256(convert_to(array_to_string(tsvector_to_array(d.words), ' '), 'UTF8')),
                        'hex')
                WHEN d.grouped_id IS NOT NULL THEN 'album:' || d.channel_id || '/' || d.grouped_id
                ELSE 'post:' || d.channel_id || '/' || d.message_id END
            FROM deciding d
        $$
        """
    )
