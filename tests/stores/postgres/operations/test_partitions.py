from datetime import UTC, datetime, timedelta
from itertools import pairwise

import asyncpg
import pytest

from telegram_assistant.domain.ids import ChannelId, MessageId
from telegram_assistant.stores.postgres.operations.partitions import BY_MONTH, months_from, slices_of
from telegram_assistant.stores.postgres.posts.raw_messages import RawMessages
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import fresh_number
from tests.conftest import Admin


async def load_partitions(admin: Admin, table: str) -> set[str]:
    rows = await admin.fetch(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1::text::regclass", table
    )
    return {row[0] for row in rows}


async def test_the_months_ahead_are_made_once(system: SystemStores, admin: Admin) -> None:
    now = datetime(2031, 11, 20, tzinfo=UTC)
    first = await system.partitions.keep_up(now)
    assert {"post_raw_2031_11", "post_raw_2031_12", "post_raw_2032_01", "post_raw_2032_02"} <= set(first.made)
    there = set[str]().union(*[await load_partitions(admin, partitioned.table) for partitioned in BY_MONTH])
    assert set(first.made) <= there
    assert (await system.partitions.keep_up(now)).made == ()


async def test_rows_that_came_early_move_into_their_month(system: SystemStores, admin: Admin) -> None:
    channel_id, read_at = ChannelId(fresh_number()), datetime(2035, 5, 5, tzinfo=UTC)
    await system.raw_archive.keep([RawMessages(channel_id, MessageId(1), MessageId(1), read_at, 229, b"x")])
    where = "SELECT tableoid::regclass::text FROM post_raw WHERE channel_id = $1"
    assert await admin.fetchval(where, channel_id) == "post_raw_rest"
    await system.partitions.keep_up(read_at)
    assert await admin.fetchval(where, channel_id) == "post_raw_2035_05"


async def test_raw_messages_are_dropped_a_month_at_a_time_and_words_are_kept(
    system: SystemStores, admin: Admin
) -> None:
    await system.partitions.keep_up(datetime(2041, 1, 15, tzinfo=UTC))
    still_needed = await system.partitions.keep_up(datetime(2041, 2, 28, tzinfo=UTC))
    assert "post_raw_2041_01" not in still_needed.dropped
    later = await system.partitions.keep_up(datetime(2041, 3, 4, tzinfo=UTC))
    assert "post_raw_2041_01" in later.dropped
    assert "post_search_2041_01" in await load_partitions(admin, "post_search")


async def test_every_table_that_is_cut_by_time_has_a_rest_and_is_kept_up(admin: Admin) -> None:
    rows = await admin.fetch(
        "SELECT partrelid::regclass::text, partdefid::regclass::text FROM pg_partitioned_table "
        "WHERE partstrat = 'r'"
    )
    assert {row[0]: row[1] for row in rows} == {table.table: f"{table.table}_rest" for table in BY_MONTH}


async def test_only_tables_that_are_cut_by_time_can_be_given_partitions(admin: Admin) -> None:
    for table in ("posts", "tenants", "nothing", "pg_class; DROP TABLE posts"):
        with pytest.raises(asyncpg.RaiseError, match="not cut by time"):
            await admin.fetchval("SELECT make_partition($1, now(), now() + interval '1 month')", table)


def test_months_follow_each_other_in_utc_whatever_the_zone_of_now() -> None:
    moscow_new_year = datetime.fromisoformat("2027-01-01T01:00:00+03:00")
    months = list(months_from(moscow_new_year, 2))
    assert [begin.strftime("%Y-%m") for begin, _ in months] == ["2026-12", "2027-01", "2027-02"]
    assert all(end == following for (_, end), (following, _) in pairwise(months))
    assert months[-1][1] - months[0][0] == timedelta(days=31 + 31 + 28)


def test_words_lie_in_months_since_last_year_and_in_years_before() -> None:
    slices = list(slices_of(datetime(2024, 5, 7, tzinfo=UTC), datetime(2026, 11, 15, tzinfo=UTC)))
    assert slices[0] == (datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC))
    assert slices[1] == (datetime(2025, 1, 1, tzinfo=UTC), datetime(2025, 2, 1, tzinfo=UTC))
    assert slices[-1] == (datetime(2027, 2, 1, tzinfo=UTC), datetime(2027, 3, 1, tzinfo=UTC))
    assert all(ends == begins for (_, ends), (begins, _) in pairwise(slices))
    assert next(slices_of(datetime(2026, 10, 30, tzinfo=UTC), datetime(2026, 11, 15, tzinfo=UTC)))[
        0
    ] == datetime(2026, 10, 1, tzinfo=UTC)
