"""The record of a followed channel: numbers that are counted from posts, and the posts behind each."""

from datetime import datetime
from typing import Annotated

from fastapi import Path
from pydantic import Field

from telegram_assistant.api.request_context import Context
from telegram_assistant.api.routing import Area
from telegram_assistant.api.schemas import ChannelNumber, ResponseModel
from telegram_assistant.domain.channels.record import ChannelRecord, RecordFact
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.features.channels.records import FirstReport, load_record, posts_behind_number
from telegram_assistant.stores.postgres.channels.records import PostBehindNumber

area = Area(
    "Channel records",
    "What channels were first with, took from others, corrected, changed and deleted, "
    "counted from your posts.",
)

RECORD_EXAMPLE = {
    "since": "2026-10-16T08:00:00Z",
    "counted_at": "2026-11-15T08:00:00Z",
    "posts": 412,
    "stories": 61,
    "first": 14,
    "forwarded": 40,
    "copied": 75,
    "corrected": 3,
    "edited": 2,
    "deleted": 2,
    "denied": 1,
}

FIRST_REPORT_EXAMPLE = {
    "post_id": "1234567890/593",
    "headline": "The bridge is closed.",
    "posted_at": "2026-11-14T07:52:05Z",
    "deleted_at": None,
    "next_post_id": "1234567891/88",
    "next_channel": "On the road",
    "lead_seconds": 2335.0,
}


class RecordCountsResponse(ResponseModel):
    """The numbers of a record. There is no total score."""

    since: datetime
    counted_at: datetime
    posts: int = Field(description="Posts since `since`; an album is one post.")
    stories: int = Field(description="Stories of at least two owners of channels that it told.")
    first: int = Field(description="Stories that it told before the channels of all other owners.")
    forwarded: int = Field(description="Posts that forward a post of another channel.")
    copied: int = Field(description="Posts that copy a post of another channel, without forwards.")
    corrected: int = Field(description="Posts that say that they are a correction.")
    edited: int = Field(description="Edits that changed what a post says, without a word about it.")
    deleted: int = Field(description="Deleted posts.")
    denied: int = Field(description="Posts about which another channel later reported a denial.")


class FirstReportResponse(ResponseModel):
    """A story that the channel told before the channels of all other owners."""

    post_id: str
    headline: str = Field(description="The first sentence of the post; empty for a picture.")
    posted_at: datetime
    deleted_at: datetime | None
    next_post_id: str | None = Field(description="The first post of another owner.")
    next_channel: str = Field(description="Empty if you do not see it.")
    lead_seconds: float | None = Field(
        description="How much earlier the channel was; null if you do not see the next post."
    )


class ChannelRecordResponse(ResponseModel):
    """A channel and its record; null until it was counted."""

    channel_id: int
    title: str
    record: RecordCountsResponse | None
    first_reports: list[FirstReportResponse] = Field(
        description="The newest stories that it told first, at most 10."
    )


class RecordedPostResponse(ResponseModel):
    """A post behind a number. `other_post_id` is the next channel's post, the source, or the post with the
    denial.
    """

    post_id: str
    happened_at: datetime
    posted_at: datetime
    deleted_at: datetime | None
    text: str = Field(description="At most 600 characters.")
    revision: int | None = Field(description="The replaced revision of an edit.")
    other_post_id: str | None
    other_channel: str = Field(description="Empty if you do not see it.")
    other_posted_at: datetime | None


class RecordedPostsResponse(ResponseModel):
    """The newest posts behind a number, at most 200."""

    items: list[RecordedPostResponse]


@area.get(
    "/channels/{channel_id}/record",
    scope=KeyScope.READ,
    example={
        "channel_id": 1234567890,
        "title": "City news",
        "record": RECORD_EXAMPLE,
        "first_reports": [FIRST_REPORT_EXAMPLE],
    },
)
async def get_channel_record(context: Context, channel_id: ChannelNumber) -> ChannelRecordResponse:
    """Get the record of a followed channel over the last 30 days, counted once a day.

    Beside the numbers stand the newest stories that it told first.
    """
    full_record = await load_record(ChannelId(channel_id), stores=context.stores)
    return ChannelRecordResponse(
        channel_id=full_record.channel.channel_id,
        title=full_record.channel.title,
        record=None if full_record.record is None else _counts(full_record.record),
        first_reports=[_first_report(report) for report in full_record.first_reports],
    )


@area.get(
    "/channels/{channel_id}/record/{fact}",
    scope=KeyScope.READ,
    example={
        "items": [
            {
                "post_id": "1234567890/593",
                "happened_at": "2026-11-14T07:52:05Z",
                "posted_at": "2026-11-14T07:52:05Z",
                "deleted_at": None,
                "text": "The bridge is closed.",
                "revision": None,
                "other_post_id": "1234567891/88",
                "other_channel": "On the road",
                "other_posted_at": "2026-11-14T08:31:00Z",
            }
        ]
    },
)
async def list_recorded_posts(
    context: Context,
    channel_id: ChannelNumber,
    fact: Annotated[RecordFact, Path(description="The number of the record.")],
) -> RecordedPostsResponse:
    """List the posts behind a number of a channel's record, newest first."""
    record_posts = await posts_behind_number(ChannelId(channel_id), fact, stores=context.stores)
    return RecordedPostsResponse(items=[_post(post) for post in record_posts.posts])


def _counts(record: ChannelRecord) -> RecordCountsResponse:
    return RecordCountsResponse(
        since=record.since,
        counted_at=record.counted_at,
        posts=record.posts,
        stories=record.stories,
        first=record.first,
        forwarded=record.forwarded,
        copied=record.copied,
        corrected=record.corrected,
        edited=record.edited,
        deleted=record.deleted,
        denied=record.denied,
    )


def _first_report(report: FirstReport) -> FirstReportResponse:
    return FirstReportResponse(
        post_id=str(report.post),
        headline=report.headline,
        posted_at=report.posted_at,
        deleted_at=report.deleted_at,
        next_post_id=None if report.next_post is None else str(report.next_post),
        next_channel=report.next_channel,
        lead_seconds=None if report.lead is None else report.lead.total_seconds(),
    )


def _post(post: PostBehindNumber) -> RecordedPostResponse:
    return RecordedPostResponse(
        post_id=str(post.post),
        happened_at=post.happened_at,
        posted_at=post.posted_at,
        deleted_at=post.deleted_at,
        text=post.text,
        revision=post.revision,
        other_post_id=None if post.other is None else str(post.other),
        other_channel=post.other_title,
        other_posted_at=post.other_at,
    )
