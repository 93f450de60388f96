"""Queries of the graph on behalf of a tenant: every query carries the tenant's visible channels into the
store.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from telegram_assistant.domain.graph.graph_facts import VISIBILITIES_OF, Appearance, Forwarding, Visible
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.timestamps import micros, moment
from telegram_assistant.domain.understanding.policy import Tier
from telegram_assistant.graph.store import Graph

MAX_SHARED = 300
"""The most frequent items of a channel that are compared; rarer ones say little about similarity."""
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class SharedItem:
    """An item that two channels have in common: `kind` is channel, page or name."""

    kind: str
    what: str


@dataclass(frozen=True, slots=True)
class Likeness:
    """The similarity of another channel to the requested one."""

    channel_id: ChannelId
    score: float
    """The Adamic-Adar score: a shared item counts more the fewer visible channels share it."""
    shared: int
    examples: tuple[SharedItem, ...]


class GraphQuestions:
    """Queries for one tenant. Raise Busy if the server does not answer or the graph is not filled yet."""

    def __init__(self, graph: Graph, visible: Visible) -> None:
        self._graph = graph
        self._visible = visible

    async def forwardings(
        self, *, since: date, of_channel_id: ChannelId | None, limit: int
    ) -> tuple[Forwarding, ...]:
        """Pairs of channels, the most forwards first; `of` matches either side."""
        channels = [
            {"id": channel_id, "since": day.isoformat()} for channel_id, day in self._since(since).items()
        ]
        rows = await self._graph.ask(FORWARDINGS, channels=channels, of=of_channel_id, limit=limit)
        return tuple(
            Forwarding(
                ChannelId(row["channel"]),
                ChannelId(row["source"]),
                row["posts"],
                date.fromisoformat(row["first_day"]),
                date.fromisoformat(row["last_day"]),
            )
            for row in rows
        )

    async def list_forwards(
        self, origin_post_id: PostId, *, since: date, limit: int
    ) -> tuple[Appearance, ...]:
        """Forwards of one post, the oldest first."""
        moments = {
            str(channel_id): micros(datetime.combine(day, time.min, UTC))
            for channel_id, day in self._since(since).items()
        }
        rows = await self._graph.ask(FORWARDS_OF, origin=str(origin_post_id.uuid), since=moments, limit=limit)
        return tuple(Appearance(_post(row["channel"], row["message"]), moment(row["at"])) for row in rows)

    async def links_to(self, url: str, *, since: date) -> tuple[PostId, ...]:
        """Posts that link to the page, in no particular order."""
        rows = await self._graph.ask(LINKS_TO, url=url, since=self._days(since))
        return tuple(_post(row["channel"], message) for row in rows for message in row["posts"])

    async def similar(self, channel_id: ChannelId, *, since: date, limit: int) -> tuple[Likeness, ...]:
        """Channels with the most shared forwards, links and names,
        as far as the tenant may see the results.
        """
        visible_channels = self._visible
        rows = await self._graph.ask(
            SIMILAR,
            channel=channel_id,
            since=self._days(since),
            local=sorted(visible_channels.local),
            provider=sorted(visible_channels.provider),
            local_sights=[visibility.value for visibility in VISIBILITIES_OF[Tier.LOCAL]],
            provider_sights=[visibility.value for visibility in VISIBILITIES_OF[Tier.PROVIDER]],
            most=MAX_SHARED,
            examples=EXAMPLES,
            limit=limit,
        )
        return tuple(
            Likeness(
                ChannelId(row["channel"]),
                round(row["score"], 6),
                row["shared"],
                _shared_items_of(row["examples"]),
            )
            for row in rows
        )

    def _since(self, since: date) -> dict[ChannelId, date]:
        """The day from which the tenant sees each channel."""
        since_by_channel = self._visible.since
        return {
            channel_id: max(since, since_by_channel.get(channel_id, since))
            for channel_id in sorted(self._visible.channels)
        }

    def _days(self, since: date) -> dict[str, str]:
        """Like `_since`, as parameters of a query; a channel without an entry is not visible."""
        return {str(channel_id): day.isoformat() for channel_id, day in self._since(since).items()}


def _post(channel: int, message: int) -> PostId:
    return PostId(ChannelId(channel), MessageId(message))


def _shared_items_of(examples: Sequence[Sequence[str]]) -> tuple[SharedItem, ...]:
    return tuple(
        SharedItem(label.rsplit("_", 2)[1].lower(), key.partition("|")[2] if "_Name_" in label else key)
        for label, key in examples
    )


FORWARDINGS = """
UNWIND $channels AS seen
MATCH (:Channel {id: seen.id})-[:ON]->(d:Day )-[e:FORWARDS]->(s:Channel ) WHERE d.day >= seen.since
WITH seen.id AS channel, d, e, s WHERE $of IS NULL OR channel = $of OR s.id = $of
RETURN channel, s.id AS source, sum(size(e.posts)) AS posts, min(d.day) AS first_day, max(d.day) AS last_day
ORDER BY posts DESC, channel, source LIMIT $limit
"""

FORWARDS_OF = """
MATCH (:Post {id: $origin})<-[:FORWARDED_FROM]-(p:Post ) WHERE p.at >= $since[toString(p.channel)]
RETURN p.channel AS channel, p.message AS message, p.at AS at ORDER BY at, channel, message LIMIT $limit
"""

LINKS_TO = """
MATCH (:Page {url: $url})<-[e:LINKS]-(d:Day ) WHERE d.day >= $since[toString(d.channel)]
RETURN d.channel AS channel, e.posts AS posts
"""

_SEEN = """({edge}.sight IS NULL OR {day}.channel IN $local AND {edge}.sight IN $local_sights
    OR {day}.channel IN $provider AND {edge}.sight IN $provider_sights)"""

SIMILAR = f"""
MATCH (:Channel {{id: $channel}})-[:ON]->(d:Day )-[e:FORWARDS|LINKS|MENTIONS]->(t)
WHERE d.day >= $since[toString(d.channel)] AND {_SEEN.format(edge="e", day="d")}
WITH t, sum(size(e.posts)) AS posts, coalesce(t.url, t.key, toString(t.id)) AS what
ORDER BY posts DESC, what LIMIT $most
MATCH (t)<-[f:FORWARDS|LINKS|MENTIONS]-(o:Day )
WHERE o.day >= $since[toString(o.channel)] AND {_SEEN.format(edge="f", day="o")}
WITH t, what, collect(DISTINCT o.channel) AS channels
WHERE size(channels) > 1
UNWIND channels AS channel
WITH channel, t, what, size(channels) AS sharing WHERE channel <> $channel
ORDER BY sharing, what
RETURN channel, sum(1.0 / log(1 + sharing)) AS score, count(*) AS shared,
    collect([labels(t)[0], what])[..$examples] AS examples
ORDER BY round(score, 6) DESC, channel LIMIT $limit
"""
