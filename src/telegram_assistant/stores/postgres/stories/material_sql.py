"""The queries that read what stories are made of; row-level security decides which posts exist."""

from telegram_assistant.domain.stories.bursts import MIN_CHANNELS
from telegram_assistant.stores.postgres.posts.rows import OWN_REVISION, OWN_STORED_AT

MAX_RECENT = 20_000
"""Linked posts that are looked at, shared equally by the channels, of each the newest."""
MIN_PER_CHANNEL = 4
MAX_POSTS = 300
"""Of one story, the newest."""
MAX_EARLIER = 5
MAX_BURSTS = 100

# The query names the channels; row-level security only checks them. The first step is an index-only scan of
# what is recent.
RECENT = f"""
WITH followed AS MATERIALIZED (
    SELECT channel_id FROM subscriptions WHERE active AND ($2::text IS NULL OR folder = $2)
        AND channel_id <> ALL($3::bigint[])
),
recent AS MATERIALIZED (
    SELECT r.* FROM followed f CROSS JOIN LATERAL (
        SELECT story_id, channel_id, posted_at FROM story_posts
        WHERE channel_id = f.channel_id AND link IS NOT NULL AND posted_at >= $1 ORDER BY posted_at DESC
        LIMIT (SELECT greatest({MIN_PER_CHANNEL}, {MAX_RECENT} / greatest(count(*), 1)) FROM followed)
    ) r
),
chosen AS MATERIALIZED (
    SELECT story_id FROM (SELECT story_id, channel_id, max(posted_at) AS newest FROM recent
        GROUP BY story_id, channel_id) by_channel
    GROUP BY story_id ORDER BY count(*) DESC, max(newest) DESC, story_id LIMIT $4
),
"""
"""$1 since, $2 folder, $3 channels to leave out, $4 the most stories"""

BURSTING = f"""
WITH bursting AS MATERIALIZED (
    SELECT m.* FROM subscriptions f CROSS JOIN LATERAL (
        SELECT story_id, posted_at FROM story_posts
        WHERE channel_id = f.channel_id AND is_bursting AND posted_at >= $1
    ) m WHERE f.active
),
chosen AS MATERIALIZED (
    SELECT b.story_id FROM bursting b WHERE {MIN_CHANNELS} <= (
        SELECT count(DISTINCT s.channel_id) FROM story_posts s
        WHERE s.story_id = b.story_id AND s.posted_at BETWEEN b.posted_at - $2::interval AND b.posted_at
            AND s.channel_id <> ALL($3::bigint[]))
    GROUP BY b.story_id ORDER BY max(b.posted_at) DESC, b.story_id LIMIT {MAX_BURSTS}
),
"""
"""$1 since, $2 window, $3 channels to leave out.

Only visible posts are counted, so nothing depends on those of others.
"""

ONE_STORY = """
WITH chosen AS MATERIALIZED (
    SELECT story_id FROM story_posts WHERE channel_id = $1 AND message_id = $2
),
"""
"""$1 channel, $2 message, $3 channels to leave out"""

SOME_STORIES = """
WITH chosen AS MATERIALIZED (
    SELECT DISTINCT s.story_id FROM unnest($1::bigint[], $2::bigint[]) AS w(channel_id, message_id)
    CROSS JOIN LATERAL (SELECT story_id FROM story_posts
        WHERE channel_id = w.channel_id AND message_id = w.message_id OFFSET 0) s
),
"""
"""$1 channels, $2 messages, $3 channels to leave out"""

CHOSEN = """
WITH chosen AS MATERIALIZED (
    SELECT unnest($1::uuid[]) AS story_id
),
"""
"""$1 stories, $2 until, $3 channels to leave out"""

# How many posts `told` has is a guess: with a plain join to subscriptions every post would be compared with
# every channel of the tenant.
MATERIAL = f"""
members AS MATERIALIZED (
    SELECT s.story_id, p.channel_id, p.message_id FROM chosen s CROSS JOIN LATERAL (
        SELECT channel_id, message_id FROM story_posts
        WHERE story_id = s.story_id AND channel_id <> ALL($3::bigint[]){{until}}
        ORDER BY posted_at DESC, channel_id, message_id LIMIT {MAX_POSTS}
    ) p
),
told AS MATERIALIZED (
    SELECT m.* FROM members m JOIN (
        SELECT story_id FROM members GROUP BY story_id HAVING count(DISTINCT channel_id) >= {{min_channels}}
    ) several USING (story_id)
)
SELECT t.story_grouping, m.story_id, p.*, c.title, c.username, c.is_private, s.folder,
       s.network, s.habits,
       ARRAY(SELECT ROW(l.other_channel_id, l.other_message_id, l.kind, l.score, l.is_leaf, l.posted_at,
           l.other_posted_at) FROM story_links l
             WHERE l.channel_id = m.channel_id AND l.message_id = m.message_id) AS links,
       EXISTS (SELECT 1 FROM posts_apart a
               WHERE a.channel_id = m.channel_id AND a.message_id = m.message_id) AS is_apart,
       {{pictures}} AS pictures, {{is_ad}} AS is_ad, {{earlier}} AS earlier
FROM tenants t LEFT JOIN (
    told m CROSS JOIN LATERAL (
        SELECT channel_id, message_id, posted_at, text, lang, grouped_id, deleted_at,
            fwd_channel_id, fwd_message_id,
            (facts -> 'counts' ->> 'views')::bigint AS views,
               coalesce((facts -> 'media' ->> 'spoiler')::boolean, false) AS is_covered,
               {OWN_STORED_AT}, {OWN_REVISION}
        FROM posts WHERE channel_id = m.channel_id AND message_id = m.message_id
    ) p JOIN channels c ON c.channel_id = m.channel_id
    CROSS JOIN LATERAL (SELECT folder, network, habits FROM subscriptions WHERE channel_id = m.channel_id
        OFFSET 0) s
) ON true
"""

PICTURES = """
ARRAY(SELECT ROW(f.ordinal, encode(f.sha256, 'hex'), f.width, f.height) FROM post_media f
      WHERE f.channel_id = m.channel_id AND f.message_id = m.message_id AND f.state = 'stored'
          AND f.kind = 'photo' AND f.sha256 IS NOT NULL
      ORDER BY f.ordinal)
"""

# Few posts are advertising: an index of these alone answers for all others, without the cost of row-level
# security.
IS_AD = """
EXISTS (SELECT 1 FROM post_enrichment e
        WHERE e.channel_id = m.channel_id AND e.message_id = m.message_id AND e.kind = 'tags'
            AND (e.data ->> 'is_ad')::boolean)
"""

# The driver cannot decode an array inside a row, unless the connection has met the type of the array before.
EARLIER = f"""
ARRAY(SELECT ROW(v.text, v.replaced_at, array_to_string(v.difference, ' ')) FROM (
    SELECT * FROM post_versions v WHERE v.channel_id = m.channel_id AND v.message_id = m.message_id
    ORDER BY revision DESC LIMIT {MAX_EARLIER}
) v ORDER BY v.revision)
"""

RECENT_MATERIAL = RECENT + MATERIAL.format(
    min_channels=2, until="", pictures=PICTURES, is_ad=IS_AD, earlier="NULL"
)
BURSTING_MATERIAL = BURSTING + MATERIAL.format(
    min_channels=MIN_CHANNELS, until="", pictures=PICTURES, is_ad=IS_AD, earlier="NULL"
)
ONE_MATERIAL = ONE_STORY + MATERIAL.format(
    min_channels=1, until="", pictures=PICTURES, is_ad=IS_AD, earlier=EARLIER
)
SOME_MATERIAL = SOME_STORIES + MATERIAL.format(
    min_channels=1, until="", pictures="NULL", is_ad=IS_AD, earlier="NULL"
)
SOME_PICTURED_MATERIAL = SOME_STORIES + MATERIAL.format(
    min_channels=1, until="", pictures=PICTURES, is_ad=IS_AD, earlier="NULL"
)
CHOSEN_MATERIAL = CHOSEN + MATERIAL.format(
    min_channels=1, until=" AND posted_at <= $2", pictures="NULL", is_ad="false", earlier="NULL"
)
