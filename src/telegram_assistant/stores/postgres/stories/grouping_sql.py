"""The statements that link and group posts."""

GROUPING = 41_001
_WANTED = "unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)"
_OUT = "SELECT l.* FROM story_links l WHERE l.channel_id = w.channel_id AND l.message_id = w.message_id"
_IN = (
    "SELECT l.* FROM story_links l WHERE l.other_channel_id = w.channel_id "
    "AND l.other_message_id = w.message_id"
)

REVISIONS = f"""
SELECT p.channel_id, p.message_id, p.revision FROM {_WANTED}
CROSS JOIN LATERAL (SELECT * FROM posts WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) p
"""

ROOM = f"""
SELECT t.channel_id, t.message_id, t.found FROM {_WANTED}
CROSS JOIN LATERAL (SELECT * FROM post_terms WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) t
"""

FOUND = """
UPDATE post_terms t SET found = w.found
FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS w(channel_id, message_id, found)
WHERE t.channel_id = w.channel_id AND t.message_id = w.message_id AND t.found <> w.found
"""

FOUND_MORE = """
UPDATE post_terms t SET found = t.found + w.found
FROM unnest($1::bigint[], $2::bigint[], $3::int[]) AS w(channel_id, message_id, found)
WHERE t.channel_id = w.channel_id AND t.message_id = w.message_id
"""

LINKED = f"SELECT l.* FROM {_WANTED} CROSS JOIN LATERAL ({_OUT} UNION ALL {_IN}) l"

UNLINK = """
DELETE FROM story_links l USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS w(a, b, c,
    d)
WHERE l.channel_id = w.a AND l.message_id = w.b AND l.other_channel_id = w.c AND l.other_message_id = w.d
"""

LINK = """
INSERT INTO story_links AS l (channel_id, message_id, other_channel_id, other_message_id, kind, score,
    is_leaf, posted_at, other_posted_at)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::real[],
    $7::boolean[], $8::timestamptz[],
    $9::timestamptz[])
ON CONFLICT (channel_id, message_id, other_channel_id, other_message_id) DO UPDATE
SET kind = excluded.kind, score = excluded.score, is_leaf = excluded.is_leaf,
    other_posted_at = excluded.other_posted_at
WHERE l.kind NOT IN ('forward', 'reply', 'album') OR excluded.kind IN ('forward', 'reply', 'album')
"""

ARRIVED = """
UPDATE story_links l SET other_posted_at = w.posted_at, is_leaf = l.is_leaf OR w.is_private
FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::boolean[]) AS w(channel_id, message_id,
    posted_at, is_private)
WHERE l.other_channel_id = w.channel_id AND l.other_message_id = w.message_id
    AND l.kind IN ('forward', 'reply', 'album')
  AND (l.other_posted_at <> w.posted_at OR (w.is_private AND NOT l.is_leaf))
"""

REACHED = f"""
WITH RECURSIVE reached AS (
    SELECT w.channel_id, w.message_id FROM {_WANTED}
    UNION
    SELECT n.channel_id, n.message_id FROM reached w CROSS JOIN LATERAL (
        SELECT other_channel_id AS channel_id, other_message_id AS message_id FROM ({_OUT}) o
        UNION ALL
        SELECT channel_id, message_id FROM ({_IN}) i
    ) n
)
SELECT channel_id, message_id FROM reached LIMIT $3
"""
"""The recursion ends with the limit."""

KNOWN = f"""
SELECT s.channel_id, s.message_id, s.story_id, s.link, s.terms_hash, s.is_bursting FROM {_WANTED}
CROSS JOIN LATERAL (SELECT * FROM story_posts WHERE channel_id = w.channel_id AND message_id = w.message_id
    LIMIT 1) s
"""

STORED = f"""
SELECT p.channel_id, p.message_id, p.posted_at, coalesce(c.is_private, false) AS is_private FROM {_WANTED}
CROSS JOIN LATERAL (SELECT channel_id, message_id, posted_at FROM posts
    WHERE channel_id = w.channel_id AND message_id = w.message_id LIMIT 1) p
LEFT JOIN channels c ON c.channel_id = p.channel_id
"""

JOIN = """
INSERT INTO story_posts AS s (channel_id, message_id, story_id, posted_at, link, terms_hash, is_bursting)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::uuid[], $4::timestamptz[], $5::text[], $6::bigint[],
    $7::boolean[])
ON CONFLICT (channel_id, message_id) DO UPDATE
SET joined_at = CASE WHEN s.story_id = excluded.story_id THEN s.joined_at ELSE now() END,
    story_id = excluded.story_id, link = excluded.link, terms_hash = excluded.terms_hash,
    posted_at = excluded.posted_at,
    is_bursting = excluded.is_bursting
"""

TELL = """
INSERT INTO stories AS s (story_id, first_posted_at, last_posted_at, posts)
SELECT p.story_id, min(p.posted_at), max(p.posted_at), count(*)::int FROM story_posts p
WHERE p.story_id = ANY($1::uuid[]) GROUP BY p.story_id
ON CONFLICT (story_id) DO UPDATE
SET first_posted_at = excluded.first_posted_at, last_posted_at = excluded.last_posted_at,
    posts = excluded.posts, merged_into = NULL,
    changed_at = now()
"""

MERGE = """
UPDATE stories s SET merged_into = m.target, posts = 0, changed_at = now()
FROM unnest($1::uuid[], $2::uuid[]) AS m(story_id, target)
WHERE s.story_id = m.story_id
"""
