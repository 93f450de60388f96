"""Caught changing as its reader meets it."""

from datetime import UTC, datetime, timedelta

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import follow_long_ago, make_channel
from testkit.web_clients import Browser
from tests.conftest import Admin
from tests.features.posts.test_caught import delete, publish

DAY = "2026-11-15"


async def test_the_card_of_a_week_is_shown_copied_and_drawn(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_channel(system, title="City")
    await follow_long_ago(system, admin, tenant_id, channel_id)
    first = await publish(system, channel_id, 1, "Пострадали 12", "Пострадали 17", views=1500)
    await delete(admin, await publish(system, channel_id, 2, "Мэр ушёл", views=800), hours=50)
    assert "./changes/caught" in (await owner.open("./changes")).text.replace(owner.base, ".")
    page = (await owner.open(f"./changes/caught/{DAY}")).text
    assert page.index("Пострадали") < page.index("Мэр ушёл")
    assert f"/post/{first}#versions" in page
    assert f"/changes/caught/{DAY}" in page, "the copied link shows the same week"
    copied = await owner.open(f"./changes/caught/{DAY}/copy?format=markdown", **{"HX-Request": "true"})
    assert copied.text.startswith("# Caught changing: 9 November to 15 November")
    link = (await owner.open(f"./changes/caught/{DAY}/copy?format=link")).text
    assert f"/changes/caught/{DAY}</textarea>" in link
    picture = await owner.open(f"./changes/caught/{DAY}/picture")
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert f'filename="caught-{DAY}.svg"' in picture.headers["content-disposition"]


async def test_a_week_without_changes_says_so_and_a_wrong_day_is_no_page(owner: Browser) -> None:
    assert "Nobody was caught" in (await owner.open("./changes/caught")).text
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date()
    assert "the week after" not in (await owner.open(f"./changes/caught/{tomorrow}")).text
    for day in ("soon", "0001-01-01", "9999-12-31"):
        assert (await owner.open(f"./changes/caught/{day}")).status_code == 404
