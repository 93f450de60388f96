"""Converts contributions to rows, and holds the statements that write many rows at a time.

In the statements `:Day ` and the like stand for the labels of one generation. A post is first removed from
every edge that counts it, then counted in its current state; nodes left without an edge are deleted.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from telegram_assistant.domain.graph.graph_facts import Contribution
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.timestamps import micros

type Row = Mapping[str, Any]
type Rows = dict[str, list[Row]]
type Edges = dict[tuple[str, ...], list[int]]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, and the key of its rows."""

    rows: str
    text: str


def rows_of(contributions: Sequence[Contribution]) -> Rows:
    """The rows of each statement of WRITE."""
    days: dict[str, list[Contribution]] = defaultdict(list)
    for contribution in contributions:
        days[day_key(contribution)].append(contribution)
    counted_contributions = [contribution for contribution in contributions if contribution.is_counted]
    linked_contributions = [contribution for contribution in contributions if contribution.has_node]
    rows: Rows = {
        "days": [
            {
                "key": key,
                "channel": day_contributions[0].post_id.channel_id,
                "day": day_contributions[0].day.isoformat(),
                "touched": [contribution.post_id.message_id for contribution in day_contributions],
                "kept": [
                    contribution.post_id.message_id
                    for contribution in day_contributions
                    if contribution.is_counted
                ],
            }
            for key, day_contributions in days.items()
        ],
        "forwards": _edges(
            ((day_key(contribution), str(contribution.source)), contribution)
            for contribution in counted_contributions
            if contribution.source
        ),
        "links": _edges(
            ((day_key(contribution), page), contribution)
            for contribution in counted_contributions
            for page in contribution.pages
        ),
        "names": _edges(
            ((day_key(contribution), f"{name.kind}|{name.text}", sight.value), contribution)
            for contribution in counted_contributions
            for sight, name in contribution.names
        ),
        "tags": _edges(
            ((day_key(contribution), tag, sight.value), contribution)
            for contribution in counted_contributions
            for sight, tag in contribution.tags
        ),
        "posts": [{"id": str(contribution.post_id.uuid)} for contribution in contributions],
        "forwarded": [
            _link(contribution, contribution.origin)
            for contribution in linked_contributions
            if contribution.origin
        ],
        "replying": [
            _link(contribution, contribution.reply_to)
            for contribution in linked_contributions
            if contribution.reply_to
        ],
    }
    rows["full"] = [row for row in rows["days"] if row["kept"]]
    rows["empty"] = [row for row in rows["days"] if not row["kept"]]
    return rows


def day_key(contribution: Contribution) -> str:
    return f"{contribution.post_id.channel_id}/{contribution.day.isoformat()}"


def _edges(keyed_contributions: Iterable[tuple[tuple[str, ...], Contribution]]) -> list[Row]:
    edges: Edges = defaultdict(list)
    for key, contribution in keyed_contributions:
        edges[key].append(contribution.post_id.message_id)
    return [
        {"day": day, "target": target, "sight": "".join(sight), "posts": posts}
        for (day, target, *sight), posts in edges.items()
    ]


def _link(contribution: Contribution, target_post_id: PostId) -> Row:
    post_id = contribution.post_id
    return {
        "id": str(post_id.uuid),
        "channel": post_id.channel_id,
        "message": post_id.message_id,
        "at": micros(contribution.posted_at),
        "to": str(target_post_id.uuid),
    }


def uncounted_days(deleted_rows: Sequence[Row]) -> Iterator[Row]:
    """Rows of the days that count a deleted post."""
    for row in deleted_rows:
        yield {"key": row["key"], "touched": [row["message"]]}


COUNTED = """
UNWIND $rows AS row
MATCH (:Channel {id: row.channel})-[:ON]->(d:Day ) WHERE row.message IN d.posts
RETURN d.key AS key, row.message AS message
"""

UNCOUNT = """
UNWIND $rows AS row
MATCH (d:Day {key: row.key}) WHERE any(m IN row.touched WHERE m IN d.posts)
MATCH (d)-[e]->(t) WHERE any(m IN row.touched WHERE m IN e.posts)
SET e.posts = [m IN e.posts WHERE NOT m IN row.touched]
WITH e, t WHERE size(e.posts) = 0
DELETE e
WITH DISTINCT t WHERE NOT EXISTS { (t)--() }
DELETE t
"""

EMPTY_DAYS = """
UNWIND $rows AS row
MATCH (d:Day {key: row.key}) WHERE any(m IN row.touched WHERE m IN d.posts)
SET d.posts = [m IN d.posts WHERE NOT m IN row.touched]
WITH d WHERE size(d.posts) = 0
MATCH (c:Channel )-[:ON]->(d)
DETACH DELETE d
WITH DISTINCT c WHERE NOT EXISTS { (c)--() }
DELETE c
"""

FULL_DAYS = """
UNWIND $rows AS row
MERGE (d:Day {key: row.key}) ON CREATE SET d.channel = row.channel, d.day = row.day, d.posts = []
MERGE (c:Channel {id: row.channel})
MERGE (c)-[:ON]->(d)
SET d.posts = [m IN d.posts WHERE NOT m IN row.touched] + row.kept
"""

FORWARDS = """
UNWIND $rows AS row
MATCH (d:Day {key: row.day})
MERGE (t:Channel {id: toInteger(row.target)})
MERGE (d)-[e:FORWARDS]->(t)
SET e.posts = coalesce(e.posts, []) + row.posts
"""

LINKS = """
UNWIND $rows AS row
MATCH (d:Day {key: row.day})
MERGE (t:Page {url: row.target})
MERGE (d)-[e:LINKS]->(t)
SET e.posts = coalesce(e.posts, []) + row.posts
"""

NAMES = """
UNWIND $rows AS row
MATCH (d:Day {key: row.day})
MERGE (t:Name {key: row.target})
MERGE (d)-[e:MENTIONS {sight: row.sight}]->(t)
SET e.posts = coalesce(e.posts, []) + row.posts
"""

TAGS = """
UNWIND $rows AS row
MATCH (d:Day {key: row.day})
MERGE (t:Tag {name: row.target})
MERGE (d)-[e:TAGGED {sight: row.sight}]->(t)
SET e.posts = coalesce(e.posts, []) + row.posts
"""

_LOOSE = """
DELETE r
REMOVE p.at, p.channel, p.message
WITH collect(DISTINCT p) AS posts, collect(DISTINCT o) AS others
CALL (posts, others) {
    UNWIND posts + others AS n
    WITH DISTINCT n WHERE NOT EXISTS { (n)--() }
    DELETE n
}
"""

UNLINK = (
    """
UNWIND $rows AS row
MATCH (p:Post {id: row.id})-[r:FORWARDED_FROM|REPLIES_TO]->(o:Post )
"""
    + _LOOSE
)

_LINK = """
UNWIND $rows AS row
MERGE (p:Post {id: row.id}) SET p.channel = row.channel, p.message = row.message, p.at = row.at
MERGE (o:Post {id: row.to})
"""

WRITE = (
    Statement("days", UNCOUNT),
    Statement("empty", EMPTY_DAYS),
    Statement("full", FULL_DAYS),
    Statement("forwards", FORWARDS),
    Statement("links", LINKS),
    Statement("names", NAMES),
    Statement("tags", TAGS),
    Statement("posts", UNLINK),
    Statement("forwarded", _LINK + "CREATE (p)-[:FORWARDED_FROM]->(o)"),
    Statement("replying", _LINK + "CREATE (p)-[:REPLIES_TO]->(o)"),
)
"""The statements, in their order."""

OLD_DAYS = """
MATCH (d:Day ) WHERE d.day < $day WITH d LIMIT $limit
OPTIONAL MATCH (d)--(t)
WITH collect(DISTINCT d) AS days, collect(DISTINCT t) AS around
WITH days, around, size(days) AS went
FOREACH (d IN days | DETACH DELETE d)
WITH around, went
CALL (around) {
    UNWIND around AS t
    WITH t WHERE NOT EXISTS { (t)--() }
    DELETE t
}
RETURN went
"""

OLD_POSTS = f"""
MATCH (p:Post ) WHERE p.at < $at WITH p LIMIT $limit
OPTIONAL MATCH (p)-[r:FORWARDED_FROM|REPLIES_TO]->(o:Post )
{_LOOSE}
RETURN size(posts) AS went
"""

FORGET = (OLD_DAYS, OLD_POSTS)
"""Each is repeated, a few nodes at a time, until none is left."""
