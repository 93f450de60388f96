"""How often a tenant's channels mention names and tags, beside the same hours of the four weeks before; and
the trends of its days.

Both functions run with the owner's rights, because the names of a post stand among its words, which no tenant
may read. They name nothing that the tenant does not see: posts of its active subscriptions since
`visible_from`, tags of the tiers that it may read.
"""

from alembic import op

from telegram_assistant.stores.postgres.migrations.classes import tenant_table

revision = "0052"
down_revision = "0051"

OPTIONS = """
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path TO 'public', 'pg_temp' SET "TimeZone" TO 'UTC'
    SET plan_cache_mode TO 'force_generic_plan'
"""
"""With many partitions a plan takes 30 ms to make, so each connection keeps it."""

MINE = """
mine AS MATERIALIZED (
    SELECT s.channel_id, s.visible_from, s.ai_policy <> 'off' AS reads,
           s.ai_policy = 'provider' AND EXISTS (SELECT 1 FROM ai_consents k
               WHERE k.tenant_id = s.tenant_id) AS pays
    FROM subscriptions s WHERE s.tenant_id = current_tenant() AND s.active
)
"""

MENTIONED = """
SELECT w.week, m.channel_id, p.message_id, p.posted_at, s.words, e.tags,
       floor(extract(epoch FROM p.posted_at - (since - w.week * interval '168 hours')) / 3600)::int AS hour
FROM generate_series({weeks}) AS w(week) CROSS JOIN mine m
CROSS JOIN LATERAL (
    SELECT p.message_id, p.posted_at FROM posts p
    WHERE p.channel_id = m.channel_id AND p.posted_at >= greatest(since - w.week * interval '168 hours',
        m.visible_from)
      AND p.posted_at < until - w.week * interval '168 hours' AND p.deleted_at IS NULL OFFSET 0) p
LEFT JOIN LATERAL (
    SELECT e.data -> 'tags' AS tags, (e.data ->> 'is_ad')::boolean AS is_ad FROM post_enrichment e
    WHERE e.channel_id = m.channel_id AND e.message_id = p.message_id AND e.kind = 'tags' AND m.reads
        AND (m.pays OR e.tier = 'local')
    ORDER BY e.revision DESC, e.tier = 'provider' DESC LIMIT 1) e ON true
LEFT JOIN LATERAL (
    SELECT s.words FROM post_search s
    WHERE s.channel_id = m.channel_id AND s.message_id = p.message_id
        AND s.posted_at = p.posted_at OFFSET 0) s ON true
WHERE e.is_ad IS NOT TRUE
"""
"""The posts from `since` to before `until` of these weeks ago, without advertising."""

KEYWORDS = """
SELECT n.week, n.channel_id, n.hour, 'name' AS kind, substr(n.name, 2) COLLATE "C" AS keyword
FROM (SELECT p.week, p.channel_id, p.hour, unnest(tsvector_to_array(p.words)) AS name FROM told p OFFSET 0) n
WHERE starts_with(n.name, '~')
UNION ALL
SELECT p.week, p.channel_id, p.hour, 'tag',
    jsonb_array_elements_text(CASE jsonb_typeof(p.tags) WHEN 'array' THEN p.tags ELSE '[]' END) COLLATE "C"
FROM told p
"""


def upgrade() -> None:
    keyword_counts()
    keyword_posts()
    trend_days()


def keyword_counts() -> None:
    """The first row, without a kind, counts the channels that posted anything, each once an hour."""
    op.execute(
        f"""
        CREATE FUNCTION keyword_counts(since timestamptz, until timestamptz, min_channels integer)
            RETURNS TABLE(kind text, keyword text, channels bigint, mentions bigint[])
        {OPTIONS}
        AS $$
            #variable_conflict use_column
            BEGIN
            RETURN QUERY
            WITH {MINE},
            told AS MATERIALIZED ({MENTIONED.format(weeks="0, 4")}),
            counted AS (
                SELECT k.kind, k.keyword, k.week, count(DISTINCT k.channel_id) AS channels,
                    count(DISTINCT (k.channel_id, k.hour)) AS mentions
                FROM ({KEYWORDS}) k GROUP BY k.kind, k.keyword, k.week
            ),
            anything AS (SELECT t.week, count(DISTINCT (t.channel_id, t.hour)) AS mentions FROM told t
                GROUP BY t.week)
            SELECT NULL, NULL, NULL::bigint, ARRAY(
                SELECT coalesce(a.mentions, 0) FROM generate_series(0, 4) AS g(week) LEFT
                JOIN anything a ON a.week = g.week ORDER BY g.week)
            UNION ALL
            SELECT c.kind, c.keyword, max(c.channels) FILTER (WHERE c.week = 0),
                ARRAY[{", ".join(map(_mentions, range(5)))}]
            FROM counted c GROUP BY c.kind, c.keyword
            HAVING max(c.channels) FILTER (WHERE c.week = 0) >= min_channels;
            END
        $$
        """
    )
    _for_tenants("keyword_counts")


def _mentions(week: int) -> str:
    return f"coalesce(max(c.mentions) FILTER (WHERE c.week = {week}), 0)"


def keyword_posts() -> None:
    """`hour` counts from `since`, in the weeks before from the same hour of theirs.

    The posts are named for this week only.
    """
    op.execute(
        f"""
        CREATE FUNCTION keyword_posts(wanted_names text[], wanted_tags text[], since timestamptz,
            until timestamptz)
            RETURNS TABLE(kind text, keyword text, week integer, hour integer, channels bigint,
                channel_ids bigint[], message_ids bigint[])
        {OPTIONS}
        AS $$
            #variable_conflict use_column
            DECLARE
                query tsquery := (SELECT string_agg(quote_literal('~' || n.name), '|')
                    FROM unnest(wanted_names) AS n(name))::tsquery;
            BEGIN
            RETURN QUERY
            WITH {MINE},
            said AS (
                SELECT t.week, t.hour, t.channel_id, t.message_id, t.posted_at, 'name' AS kind,
                    n.name AS keyword
                FROM ({MENTIONED.format(weeks="0, 4")} AND query IS NOT NULL AND s.words @@ query) t
                CROSS JOIN LATERAL unnest(wanted_names) AS n(name)
                    WHERE t.words @@ quote_literal('~' || n.name)::tsquery
                UNION ALL
                SELECT t.week, t.hour, t.channel_id, t.message_id, t.posted_at, 'tag', g.tag
                FROM ({MENTIONED.format(weeks="0, 4")} AND cardinality(wanted_tags) > 0
                    AND e.tags ?| wanted_tags) t
                CROSS JOIN LATERAL unnest(wanted_tags) AS g(tag) WHERE t.tags ? g.tag
            )
            SELECT s.kind, s.keyword, s.week, s.hour, count(DISTINCT s.channel_id),
                   array_agg(s.channel_id ORDER BY s.posted_at, s.channel_id,
                       s.message_id) FILTER (WHERE s.week = 0),
                   array_agg(s.message_id ORDER BY s.posted_at, s.channel_id,
                       s.message_id) FILTER (WHERE s.week = 0)
            FROM said s GROUP BY s.kind, s.keyword, s.week, s.hour;
            END
        $$
        """
    )
    _for_tenants("keyword_posts")


def _for_tenants(function: str) -> None:
    op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO tga_tenant")


def trend_days() -> None:
    op.execute(
        """
        CREATE TABLE trend_days (
            tenant_id bigint NOT NULL DEFAULT current_tenant() REFERENCES tenants ON DELETE CASCADE,
            day date NOT NULL,
            trends jsonb NOT NULL,
            made_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, day)
        )
        """
    )
    tenant_table(
        "trend_days",
        "The names and tags that a day in UTC was about, with the ids of the posts that explain them.",
        "SELECT, INSERT",
    )
