"""One channel: health, coverage, hours, rhythm, freshness, changes, forwards, similar channels,
newest posts, settings.
"""

import asyncio

from starlette.responses import Response

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.people.person import FeedOrder
from telegram_assistant.features.channels.channel import channel_with_activity
from telegram_assistant.features.channels.channels import change_followed, unfollow
from telegram_assistant.features.channels.coverage import least_fill_time
from telegram_assistant.features.channels.polling import poll_own
from telegram_assistant.features.feed import person_feed
from telegram_assistant.features.graph import GraphScope, find_neighbours
from telegram_assistant.stores.postgres.feed.choices import Mutes
from telegram_assistant.stores.postgres.feed.person_feed import ReadingScope
from telegram_assistant.web.charts.channels import busiest, draw_coverage, draw_week
from telegram_assistant.web.pages.channels.channels import CHOICES, audit_facts_of, read_update
from telegram_assistant.web.views import Content, TenantView, channel_id_of, go

NEWEST_POSTS = 5
SHOWN_GAPS = 20
FORWARDS = 40
SIMILAR = 5
FIRST_REPORTS = 3


async def show(view: TenantView) -> Content:
    channel_id = _channel_id(view)
    full_channel = await channel_with_activity(channel_id, stores=view.stores, zone=view.zone, now=view.now)
    scope, newest = GraphScope(view.stores, view.app.graph, view.now), ReadingScope(channel_id=channel_id)
    surroundings, neighbours, page = await asyncio.gather(
        person_feed.feed_surroundings(own=view.own),
        find_neighbours(scope, channel_id, max_forwards=FORWARDS, max_similar=SIMILAR),
        person_feed.read_feed(
            newest, order=FeedOrder.NEWEST, own=view.own, mutes=Mutes(), limit=NEWEST_POSTS
        ),
    )
    content = {
        **CHOICES,
        "full": full_channel,
        "folders": surroundings.folders,
        "asked": view.query("asked") == "yes",
        "changed": view.query("changed") == "yes",
    }
    if full_channel.activity is None:
        return content
    week, ledger = (
        draw_week(full_channel.activity.hours),
        full_channel.coverage.ledger if full_channel.coverage else None,
    )
    return {
        **content,
        "first_reports": full_channel.first_reports[:FIRST_REPORTS],
        "strip": draw_coverage(ledger) if ledger and ledger.newest_id >= ledger.floor_id else None,
        "gaps": ledger.gaps[:SHOWN_GAPS] if ledger else (),
        "fill_time": least_fill_time(full_channel.coverage.channel.missing_ids)
        if full_channel.coverage
        else None,
        "week": week,
        "busiest": busiest(week),
        "sources": [edge for edge in neighbours.forwarded if edge.channel.channel_id == channel_id],
        "forwarders": [
            edge
            for edge in neighbours.forwarded
            if edge.source.channel_id == channel_id and edge.channel.channel_id != channel_id
        ],
        "similar": neighbours.similar,
        "posts": page.entries,
    }


async def change(view: TenantView) -> Response:
    update = read_update(view)
    await change_followed(_channel_id(view), update, followed=view.stores.followed)
    view.note(**audit_facts_of(update))
    return go(f"{_url(view)}?changed=yes#settings")


async def unfollow_one(view: TenantView) -> Response:
    await unfollow(_channel_id(view), followed=view.stores.followed)
    return go(view.url("/channels?left=1"))


async def read_now(view: TenantView) -> Response:
    await poll_own(_channel_id(view), mode=None, first=False, followed=view.stores.followed)
    return go(f"{_url(view)}?asked=yes")


def _channel_id(view: TenantView) -> ChannelId:
    return channel_id_of(str(view.request.path_params["channel"]))


def _url(view: TenantView) -> str:
    return view.url(f"/channels/{view.request.path_params['channel']}")
