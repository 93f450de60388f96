"""The list of channels and the page of a channel."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.channels.coverage import IdRange
from telegram_assistant.domain.ids import ChannelId, MessageId, TenantId
from telegram_assistant.domain.posts.post import Origin
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.features.channels.channel_lists import read_list
from telegram_assistant.reasons import dump_reason, quote
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import follow_long_ago, fresh_number, make_channel, make_page, make_post
from testkit.graphs import land
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin
from tests.web.feed.test_feed import make_followed


async def set_read_at(admin: Admin, channel_id: ChannelId, moment: datetime, **schedule: object) -> None:
    """An account reads the channel, the last time at that moment."""
    tenant_id = await admin.fetchval("SELECT tenant_id FROM subscriptions WHERE channel_id = $1", channel_id)
    account_id = await admin.fetchval(
        "INSERT INTO telegram_accounts (tenant_id, state) VALUES ($1, 'active') RETURNING account_id",
        tenant_id,
    )
    values: Mapping[str, object] = {"account_id": account_id, "last_polled_at": moment, **schedule}
    columns = ", ".join(f"{name} = ${number}" for number, name in enumerate(values, start=2))
    await admin.execute(
        f"UPDATE poll_schedule SET {columns} WHERE channel_id = $1", channel_id, *values.values()
    )


async def make_named_channel(
    system: SystemStores, admin: Admin, tenant_id: TenantId, title: str, **subscription: object
) -> ChannelId:
    channel_id = await make_channel(system, title=title, username=f"name{fresh_number()}")
    await follow_long_ago(system, admin, tenant_id, channel_id, **subscription)
    return channel_id


def titles(page: str) -> list[str]:
    return re.findall(r'<a class="title"[^>]*>([^<]*)</a>', page)


def healths(page: str) -> dict[str, str]:
    rows = re.findall(
        r'<a class="title"[^>]*>([^<]*)</a>.*?<td class="how">\s*<span class="chip[^>]*>([^<]*)</span>',
        page,
        re.DOTALL,
    )
    return dict(rows)


async def test_each_channel_says_how_it_is_read_why_and_what_happens_next(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    now = datetime.now(UTC)
    well, late, parked = [await make_followed(system, admin, tenant_id, "text") for _ in range(3)]
    waiting = await make_named_channel(system, admin, tenant_id, "Waiting")
    unreadable = await make_named_channel(system, admin, tenant_id, "Unreadable")
    for channel_id, ago in ((well, 1), (late, 45), (parked, 1), (waiting, 1)):
        await set_read_at(admin, channel_id, now - timedelta(minutes=ago))
    await admin.execute("UPDATE poll_schedule SET last_polled_at = NULL WHERE channel_id = $1", waiting)
    await admin.execute(
        "UPDATE channels SET parked_until = now() + interval '1 hour', parked_reason = $2 "
        "WHERE channel_id = $1",
        parked,
        dump_reason(quote("it broke")),
    )
    page = (await owner.open("./channels?order=health")).text
    assert healths(page) == {
        "Unreadable": "unreadable",
        f"Channel {parked}": "parked",
        f"Channel {late}": "late",
        "Waiting": "waiting",
        f"Channel {well}": "up to date",
    }
    assert titles(page) == [
        "Unreadable",
        f"Channel {parked}",
        f"Channel {late}",
        "Waiting",
        f"Channel {well}",
    ]
    assert "It broke. Next attempt at " in page
    assert "No account can open it yet. It will be read as soon as one of your accounts can open it." in page
    assert titles((await owner.open("./channels?health=parked")).text) == [f"Channel {parked}"]
    assert "unreadable 1" in page
    assert str(unreadable) in page


async def test_a_suspended_channel_says_why_and_can_only_be_left(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "secret words")
    await admin.execute(
        "UPDATE subscriptions SET active = false, suspended_reason = $2 WHERE channel_id = $1",
        channel_id,
        dump_reason(quote("nobody reads it")),
    )
    assert (
        "Nobody reads it. Follow it again when one of your accounts can open it."
        in (await owner.open("./channels")).text
    )
    page = (await owner.open(f"./channels/{channel_id}")).text
    assert f"channel {channel_id}" in page
    assert "secret words" not in page
    assert (await owner.submit(f"./channels/{channel_id}/unfollow")).status_code == 303
    assert (await owner.open(f"./channels/{channel_id}")).status_code == 404


async def test_channels_are_found_by_name_and_folder_and_sorted(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    await make_named_channel(system, admin, tenant_id, "Вечерние новости", folder="Город")
    await make_named_channel(system, admin, tenant_id, "Аптека")
    busy = await make_followed(system, admin, tenant_id, "one", "two", folder="Город")
    assert titles((await owner.open("./channels")).text) == [f"Channel {busy}", "Аптека", "Вечерние новости"]
    assert titles((await owner.open("./channels?q=НОВОСТИ")).text) == ["Вечерние новости"]
    assert titles((await owner.open("./channels?folder=in:Город&order=posts")).text) == [
        f"Channel {busy}",
        "Вечерние новости",
    ]
    assert titles((await owner.open("./channels?folder=none")).text) == ["Аптека"]
    assert titles((await owner.open("./channels?order=newest")).text)[0] == f"Channel {busy}"
    assert "None of your channels matches." in (await owner.open("./channels?q=никогда")).text


async def test_many_channels_are_shown_page_by_page(
    owner: Browser, admin: Admin, tenant_id: TenantId
) -> None:
    first = fresh_number() * 1000
    await admin.execute(
        """
        WITH made AS (INSERT INTO channels (channel_id, title) SELECT $2::bigint + n, 'Many '
            || lpad(n::text, 3, '0') FROM generate_series(1, 120) n
                      RETURNING channel_id)
        INSERT INTO subscriptions (tenant_id, channel_id, visible_from) SELECT $1, channel_id, now() FROM made
        """,
        tenant_id,
        first,
    )
    assert len(titles((await owner.open("./channels")).text)) == 50
    last = (await owner.open("./channels?page=3")).text
    assert titles(last) == [f"Many {number:03}" for number in range(101, 121)]
    assert "page 3 of 3" in last
    assert titles((await owner.open("./channels?page=99")).text) == titles(last)
    await owner.submit("./channels/change", all="yes", q="many 1", priority="low")
    assert (
        await admin.fetchval(
            "SELECT count(*) FROM subscriptions WHERE tenant_id = $1 AND priority = 'low'", tenant_id
        )
        == 21
    )


async def test_selected_channels_are_changed_together_and_nothing_else(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, second, other = [
        await make_named_channel(system, admin, tenant_id, title, folder="Old")
        for title in ("one", "two", "other")
    ]
    await owner.open("./channels?q=o")
    answer = await owner.submit(
        "./channels/change",
        channel=[str(first), str(second)],
        new_folder="New",
        priority="high",
        history=str(EVERYTHING_DAYS),
        media="no",
        ai="off",
        filters="q=o",
    )
    assert answer.headers["location"].endswith("/channels?q=o&changed=2")
    assert "2 channels changed." in (await owner.open(answer.headers["location"])).text
    query = (
        "SELECT folder, priority, history_days, wants_media, ai_policy FROM subscriptions "
        "WHERE channel_id = $1"
    )
    for channel_id in (first, second):
        assert tuple(await admin.fetchrow(query, channel_id) or ()) == (
            "New",
            "high",
            EVERYTHING_DAYS,
            False,
            "off",
        )
    assert (await admin.fetchval(query, other)) == "Old"
    await owner.open("./channels")
    await owner.submit("./channels/change", channel=[str(first)], folder="none")
    assert await admin.fetchval(query, first) is None
    await owner.open("./channels")
    assert (
        (await owner.submit("./channels/unfollow", channel=[str(first), str(second)]))
        .headers["location"]
        .endswith("left=2")
    )
    assert titles((await owner.open("./channels")).text) == ["other"]
    changes = (await owner.open("./members")).text
    assert "change_channels" in changes
    assert "unfollow_channels" in changes


async def test_without_a_selection_nothing_is_changed(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    await make_named_channel(system, admin, tenant_id, "one")
    await owner.open("./channels")
    answer = await owner.submit("./channels/change", priority="high")
    assert "no channel was selected" in (await owner.open(answer.headers["location"])).text


@pytest.mark.parametrize(
    "field",
    [
        {"priority": "highest"},
        {"history": "-1"},
        {"history": "many"},
        {"media": "x"},
        {"ai": "x"},
        {"new_folder": "x" * 65},
    ],
)
async def test_a_damaged_form_is_refused(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId, field: dict[str, str]
) -> None:
    channel_id = await make_named_channel(system, admin, tenant_id, "one")
    await owner.open("./channels")
    assert (await owner.submit("./channels/change", {"channel": str(channel_id), **field})).status_code == 422
    await owner.open("./channels")
    assert (await owner.submit(f"./channels/{channel_id}/settings", field)).status_code == 422


async def test_a_viewer_sees_no_forms_and_may_change_nothing(
    app: App, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "text")
    async with member_browser(app, tenant_id, role=MemberRole.VIEWER) as viewer:
        for path in ("./channels", f"./channels/{channel_id}"):
            page = (await viewer.open(path)).text
            assert 'method="post" action="' not in page.replace(f'action="{viewer.base}/save"', "").replace(
                f'action="{viewer.base}/read"', ""
            )
            assert "/channels/add" not in page
        for path in (
            "/channels/change",
            "/channels/unfollow",
            *(f"/channels/{channel_id}/{what}" for what in ("settings", "unfollow", "read")),
        ):
            assert (await viewer.submit(f".{path}", channel=str(channel_id))).status_code == 403


async def test_the_list_can_be_taken_along_and_read_again(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    await make_named_channel(system, admin, tenant_id, "one\n@forged", folder="News")
    for kind in ("opml", "txt"):
        answer = await owner.open(f"./channels/export/{kind}")
        assert answer.headers["content-disposition"] == f'attachment; filename="channels.{kind}"'
        assert [
            entry.reference.rpartition("/")[2].removeprefix("@")[:4] for entry in read_list(answer.text)
        ] == ["name"]
    assert (await owner.open("./channels/export/exe")).status_code == 404


async def test_the_page_of_a_channel_shows_completeness_hours_freshness_and_changes(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "the first", "the second", "the third")
    await set_read_at(admin, channel_id, datetime.now(UTC))
    await admin.execute(
        "UPDATE posts SET deleted_at = now() WHERE channel_id = $1 AND message_id = 1", channel_id
    )
    await admin.execute(
        "UPDATE posts SET posted_at = now() - interval '2 hours', stored_at = now() WHERE channel_id = $1 "
        "AND message_id = 2",
        channel_id,
    )
    page = (await owner.open(f"./channels/{channel_id}")).text
    assert "up to date" in page
    assert "complete" in page
    assert "within 30 minutes" in page
    assert "66%" in page
    assert "1 deletion" in page
    assert f"/changes?days=30&amp;channel={channel_id}&amp;kind=deleted" in page
    assert page.count("<title>") == 168 + 1
    assert "the third" in page
    changes = (await owner.open(f"./changes?channel={channel_id}&kind=deleted")).text
    assert "the first" in changes


async def test_a_gap_is_drawn_and_explained(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_named_channel(system, admin, tenant_id, "Gaps")
    now = datetime.now(UTC).replace(microsecond=0)
    for numbers in (range(1, 11), range(31, 41)):
        posts = [
            make_post(
                channel_id=channel_id, message_id=number, posted_at=now - timedelta(minutes=50 - number)
            )
            for number in numbers
        ]
        proven = IdRange(MessageId(numbers[0]), MessageId(numbers[-1]))
        await system.landing.land(make_page(*posts, proven=proven), Claim(channel_id, 0))
    await set_read_at(admin, channel_id, now)
    page = (await owner.open(f"./channels/{channel_id}")).text
    assert "20 message numbers are not verified yet." in page
    assert "<td>11–30</td>" in page
    assert 'fill="url(#hatch)" x="25.0%" width="50.0%"' in page


async def test_forwards_are_shown_in_both_directions_without_the_graph(
    app: App, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    source = await make_named_channel(system, admin, tenant_id, "The source")
    teller = await make_named_channel(system, admin, tenant_id, "The teller")
    now, stranger = datetime.now(UTC).replace(microsecond=0), ChannelId(fresh_number())
    posts = [
        make_post(
            channel_id=teller, message_id=number, posted_at=now, forwarded_from=Origin(origin, MessageId(1))
        )
        for number, origin in ((1, source), (2, stranger))
    ]
    await land(system, *posts)
    async with member_browser(replace(app, graph=None), tenant_id) as browser:
        page = (await browser.open(f"./channels/{teller}")).text
        assert "Taken from" in page
        assert "The source" in page
        assert f"channel {stranger} (not followed)" in page
        assert "Who takes from it" in (await browser.open(f"./channels/{source}")).text


async def test_only_own_accounts_are_named(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "text")
    other = (await system.tenants.ensure(f"other {fresh_number()}")).tenant_id
    for owner_id, phone in ((tenant_id, "+7 own"), (other, "+7 foreign")):
        await admin.execute(
            """
            WITH made AS (INSERT INTO telegram_accounts (tenant_id, phone_masked, state)
                VALUES ($1, $2, 'active') RETURNING account_id)
            INSERT INTO account_channels (account_id, channel_id, access_hash, joined) SELECT account_id, $3,
                1, true FROM made
            """,
            owner_id,
            phone,
            channel_id,
        )
    page = (await owner.open(f"./channels/{channel_id}")).text
    assert "+7 own" in page
    assert "joined the channel" in page
    assert "+7 foreign" not in page


async def test_the_settings_of_a_channel_are_kept_and_it_is_read_on_request(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "text")
    await owner.open(f"./channels/{channel_id}")
    answer = await owner.submit(
        f"./channels/{channel_id}/settings",
        new_folder="City",
        priority="high",
        history="30",
        media="no",
        ai="off",
    )
    page = (await owner.open(answer.headers["location"].partition("#")[0])).text
    assert "Saved." in page
    assert '<option value="in:City" selected>' in page
    assert "within 15 minutes" in page
    assert (await owner.submit(f"./channels/{channel_id}/read")).status_code == 409
    await set_read_at(admin, channel_id, datetime.now(UTC))
    await owner.open(f"./channels/{channel_id}")
    assert (await owner.submit(f"./channels/{channel_id}/read")).headers["location"].endswith("?asked=yes")


async def test_hostile_names_stay_text(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_named_channel(
        system, admin, tenant_id, "<script>alert(1)</script>", folder='"><img>'
    )
    for path in ("./channels", f"./channels/{channel_id}"):
        page = (await owner.open(path)).text
        assert "<script>alert" not in page
        assert "<img>" not in page
