"""The pages of the operator: only the operator sees and uses them."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.features.operations.heartbeats import AWAY_AFTER_SECONDS
from telegram_assistant.pipeline import PIPELINE
from telegram_assistant.stores.postgres.operations.processes import Parts, ProcessReport
from telegram_assistant.stores.postgres.pipeline.stage_minutes import StageMinute
from telegram_assistant.stores.postgres.stores import SystemStores
from telegram_assistant.telemetry.scraping import Metrics, Sample
from telegram_assistant.web.page import Page
from telegram_assistant.web.site import OF_TENANT
from testkit.factories import fresh_number
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin
from tests.web.test_pages_languages import english_in

PAGES = (
    "/operations",
    "/operations/numbers",
    "/operations/checks",
    "/operations/dead-letters",
    "/operations/tenants",
)
STAGE = PIPELINE[0].name


@pytest.fixture
async def operator_tenant(admin: Admin) -> TenantId:
    return TenantId(await admin.fetchval("SELECT tenant_id FROM tenants WHERE is_operator"))


@pytest.fixture
async def operator(app: App, operator_tenant: TenantId) -> AsyncIterator[Browser]:
    async with member_browser(app, operator_tenant) as browser:
        yield browser


@pytest.fixture(autouse=True)
async def nothing_before(admin: Admin) -> None:
    await admin.execute("DELETE FROM processes")
    await admin.execute("DELETE FROM stage_minutes")
    await admin.execute("DELETE FROM dead_letters")


async def report(
    app: App,
    instance: str = "moscow-1#ab12",
    *roles: str,
    processed: int = 0,
    lag: int = 0,
    parts: Parts | None = None,
    servers_away: Mapping[str, str] | None = None,
    samples: Sequence[Sample] = (),
) -> None:
    samples = (
        *samples,
        Sample("stage_processed_total", {"stage": STAGE}, processed),
        Sample("stage_lag_entries", {"stage": STAGE, "lane": "live"}, lag),
        Sample("stage_lag_entries", {"stage": STAGE, "lane": "bulk"}, lag),
    )
    made = ProcessReport(
        instance=instance,
        roles=roles or ("ingest", "worker", "api"),
        version="0.1",
        parts=parts or {},
        metrics=Metrics(samples),
        servers_away=servers_away or {},
    )
    await app.api.processes.report(made)


async def add_dead_letters(
    admin: Admin,
    *,
    stage: str = "tagging",
    reason: str = "the event does not parse",
    payload: bytes = b"<b>{}</b>",
) -> int:
    query = (
        "INSERT INTO dead_letters (stage, stream, entry_id, payload, reason, attempts) "
        "VALUES ($1, $2, $3, $4, $5, 3) RETURNING dead_letter_id"
    )
    return int(
        await admin.fetchval(query, stage, "stream:posts:parsed", f"{fresh_number()}-1", payload, reason)
    )


def figures(page: str, stage: str) -> dict[str, int]:
    """The numbers of a stage on the page."""
    item = page.partition(f'data-stage="{stage}"')[2].partition("</li>")[0]
    return {name: int(value) for name, value in re.findall(r'data-figure="(\w+)" value="(\d+)"', item)}


def test_every_page_of_operations_is_for_the_operator() -> None:
    assert {
        route.path for route in OF_TENANT if isinstance(route, Page) and route.path.startswith("/operations")
    } == set(PAGES)
    assert {
        route.needs.value for route in OF_TENANT if route.needs and route.path.startswith("/operations")
    } == {"operate"}


@pytest.mark.parametrize("path", PAGES)
async def test_owners_of_other_tenants_find_nothing_there(owner: Browser, path: str) -> None:
    assert (await owner.open(f".{path}")).status_code == 404
    assert "/operations" not in (await owner.open("./feed")).text


async def test_an_editor_of_the_operators_tenant_may_not_operate(app: App, operator_tenant: TenantId) -> None:
    async with member_browser(app, operator_tenant, role=MemberRole.EDITOR) as editor:
        assert [(await editor.open(f".{path}")).status_code for path in PAGES] == [403] * len(PAGES)


async def test_without_ingest_or_worker_the_page_says_so(app: App, operator: Browser, admin: Admin) -> None:
    await report(app)
    page = (await operator.open("./operations")).text
    assert "No process runs the role" not in page
    assert "running" in page
    await admin.execute("UPDATE processes SET at = now() - make_interval(secs => $1)", AWAY_AFTER_SECONDS + 1)
    page = (await operator.open("./operations/numbers")).text
    assert "No process runs the role ingest." in page
    assert "No process runs the role worker." in page
    assert "10 seconds ago" in page
    assert ">missing</span>" in page
    await report(app, "moscow-2#ff00", "worker")
    page = (await operator.open("./operations/numbers")).text
    assert "No process runs the role worker." not in page


async def test_processes_that_run_come_first_and_the_others_are_folded(
    app: App, operator: Browser, admin: Admin
) -> None:
    for instance, age in (("dead#1", 1200), ("first#1", 0), ("dead#2", 60), ("second#1", 0)):
        await report(app, instance, "worker")
        await admin.execute(
            "UPDATE processes SET at = now() - make_interval(secs => $2) WHERE instance = $1", instance, age
        )
    ended = ProcessReport(
        instance="ended#1", roles=("worker",), version="0.1.0", parts={}, metrics=Metrics(()), servers_away={}
    )
    await app.api.processes.report(ended, is_last=True)
    page = (await operator.open("./operations")).text
    card = page.partition('id="processes"')[2].partition("</section>")[0]
    visible, _, folded = card.partition("<details")
    assert re.findall(r"<b>([^<]+)</b>", visible) == ["first#1", "second#1"]
    assert re.findall(r"<b>([^<]+)</b>", folded) == ["dead#2", "dead#1", "ended#1"]
    assert "3 processes of the last hour no longer run" in folded
    assert ("missing 2" in folded, "stopped 1" in folded) == (True, True)
    assert not folded.partition(">")[0].endswith("open")
    await admin.execute("UPDATE processes SET at = now() - interval '1 minute'")
    card = (
        (await operator.open("./operations")).text.partition('id="processes"')[2].partition("</section>")[0]
    )
    assert card.partition("<details")[2].partition(">")[0].endswith("open")


async def test_counts_are_added_up_over_workers_and_what_waits_is_not(app: App, operator: Browser) -> None:
    await report(app, "a#1", "worker", processed=1200, lag=3)
    await report(app, "b#1", "worker", processed=34, lag=3)
    page = (await operator.open("./operations")).text
    expected = {"lag": 6, "pending": 0, "processed": 1234, "failed": 0, "retried": 0, "dead_lettered": 0}
    assert figures(page, STAGE) == expected
    assert ">1,234<" in page


async def test_failing_parts_and_servers_away_are_named(app: App, operator: Browser) -> None:
    parts: Parts = {
        "ingest": {
            "account 7": {
                "status": "failing",
                "since": "2026-11-16T08:00:00Z",
                "detail": "<b>no</b> connection",
            }
        }
    }
    await report(app, parts=parts, servers_away={"redis": "no answer within 1 s"})
    page = (await operator.open("./operations")).text
    assert "redis does not answer these processes: moscow-1#ab12" in page
    assert "account 7" in page
    assert "&lt;b&gt;no&lt;/b&gt; connection" in page


async def test_a_process_whose_channels_are_not_read_is_not_shown_as_running_well(
    app: App, operator: Browser
) -> None:
    stale = {
        "status": "stale",
        "since": "2026-11-16T08:00:00Z",
        "detail": "ticks run, and no channel has been read since 03:00",
    }
    await report(
        app,
        parts={"ingest": {"scheduler": stale, "accounts": {"status": "ok", "since": "2026-11-16T08:00:00Z"}}},
    )
    page = (await operator.open("./operations")).text
    assert ">running with failures</span>" in page
    assert ">running</span>" not in page
    assert "no channel has been read since 03:00" in page


async def test_the_chart_of_a_stage_shows_its_minutes(
    app: App, operator: Browser, system: SystemStores
) -> None:
    minute = datetime.now(UTC).replace(second=0, microsecond=0) - timedelta(minutes=5)
    await report(app)
    await system.stage_minutes.save([StageMinute(minute, STAGE, 40, 0, 7)], instance="a#1")
    for hours, highest in ((1, "40"), (6, "8"), (24, "2")):
        page = (await operator.open(f"./operations?hours={hours}")).text
        assert f"up to {highest} per minute" in page, hours
    assert (await operator.open("./operations?hours=7")).status_code == 200


async def test_the_page_checks_what_the_doctor_checks_when_it_is_asked(operator: Browser) -> None:
    page = (await operator.open("./operations")).text
    assert 'hx-select="#findings"' in page
    assert "<code>postgres</code>" not in page, "nothing is checked before somebody asks"
    page = (await operator.open("./operations/checks")).text
    findings = dict(re.findall(r"<li>\s*<span>\s*<code>([^<]+)</code><br>\s*(.*?)</span>", page, re.DOTALL))
    assert findings["postgres"].startswith("PostgreSQL ")
    assert findings["redis"].startswith(("Redis ", "Valkey "))
    assert {"python", "files", "vectors", "sandbox", "operator key"} <= findings.keys()
    assert re.search(r"Checked at \d", page)
    broken, doubtful = page.count('<span class="chip bad">'), page.count('<span class="chip warn">')
    assert ("All checks passed." in page) is (broken + doubtful == 0)
    assert (f"{broken} error" in page) is bool(broken)
    assert (f"{doubtful} warning" in page) is (doubtful > 0 and not broken)


async def test_a_dead_letter_is_shown_escaped_replayed_and_discarded(operator: Browser, admin: Admin) -> None:
    first, second = (
        await add_dead_letters(admin, stage=STAGE),
        await add_dead_letters(admin, reason="<script>"),
    )
    page = (await operator.open("./operations/dead-letters")).text
    assert "&lt;b&gt;{}&lt;/b&gt;" in page
    assert "<script>" not in page.partition("<body")[2]
    assert (await operator.submit(f"./operations/dead-letters/{second}/discard")).status_code == 303
    await operator.open("./operations/dead-letters")
    assert (await operator.submit(f"./operations/dead-letters/{first}/replay")).status_code == 303
    assert "No dead letters" in (await operator.open("./operations/dead-letters")).text
    audited = await admin.fetch(
        "SELECT action, subject FROM audit_log WHERE subject LIKE '/operations/dead-letters/%' ORDER BY at"
    )
    assert [tuple(row) for row in audited][-2:] == [
        ("discard_dead_letter", f"/operations/dead-letters/{second}/discard"),
        ("replay_dead_letter", f"/operations/dead-letters/{first}/replay"),
    ]
    for unknown in ("999999999", "x", "9" * 30):
        await operator.open("./operations/tenants")
        assert (await operator.submit(f"./operations/dead-letters/{unknown}/replay")).status_code == 404


async def test_a_tenant_is_created_limited_suspended_and_resumed(app: App, operator: Browser) -> None:
    name = f"acme {fresh_number()}"
    await operator.open("./operations/tenants")
    assert (await operator.submit("./operations/tenants/create", name=name)).status_code == 303
    made = next(tenant for tenant in await app.api.tenant_operations.page(limit=1000) if tenant.name == name)
    for path, fields in (
        ("quota", {"gigabytes": "1,5"}),
        ("budget", {"money": "500", "tokens": "90 000"}),
        ("suspend", {"why": "the bill was not paid"}),
    ):
        await operator.open("./operations/tenants")
        assert (
            await operator.submit(f"./operations/tenants/{made.public_id}/{path}", fields)
        ).status_code == 303, path
    changed = await app.api.tenant_operations.one(made.public_id)
    assert changed is not None
    assert changed.budget is not None
    assert (changed.media_bytes_limit, changed.budget.micro, changed.budget.tokens) == (
        3 * 2**29,
        500_000_000,
        90_000,
    )
    assert changed.suspended_reason == "the bill was not paid"
    await operator.open(f"./operations/tenants?after={name[:-1]}")
    assert 'value="1.5"' in operator.page
    assert "the bill was not paid" in operator.page
    await operator.submit(f"./operations/tenants/{made.public_id}/resume")
    resumed = await app.api.tenant_operations.one(made.public_id)
    assert resumed is not None
    assert resumed.suspended_at is None


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("create", {"name": ""}),
        ("create", {"name": "default"}),
        ("{}/quota", {"gigabytes": "much"}),
        ("{}/quota", {"gigabytes": "NaN"}),
        ("{}/budget", {"money": "much"}),
        ("{}/budget", {"money": "1", "tokens": "few"}),
        ("{}/suspend", {"why": " "}),
        ("{}/suspend", {"why": "the operator itself"}),
    ],
    ids=str,
)
async def test_what_cannot_be_done_is_refused_in_russian(
    app: App, operator_tenant: TenantId, admin: Admin, path: str, fields: dict[str, str]
) -> None:
    own = await admin.fetchval("SELECT public_id FROM tenants WHERE is_operator")
    async with member_browser(app, operator_tenant, language="ru") as browser:
        await browser.open("./operations/tenants")
        answer = await browser.submit(f"./operations/tenants/{path.format(own)}", fields)
    assert answer.status_code in {409, 422}
    assert english_in(answer.text) == []


@pytest.mark.parametrize("path", PAGES)
async def test_operations_in_russian_hold_no_english_sentence(
    app: App, operator_tenant: TenantId, admin: Admin, path: str
) -> None:
    await add_dead_letters(admin)
    await report(app, "moscow-1#ab12", "worker", servers_away={"redis": "no answer within 1 s"})
    async with member_browser(app, operator_tenant, language="ru") as browser:
        assert (await browser.open(f".{path}")).status_code == 200
        assert (
            english_in(browser.page.replace("Telegram says so", "")) == []
        )  # quoted from Telegram by other tests


def make_samples(*, used_share: float, redis_share: float, is_paused: bool) -> tuple[Sample, ...]:
    """The metrics of a process about its disk and Redis."""
    size, limit = 20e9, 160e6
    disks = [
        Sample(name, {"disk": disk}, value)
        for disk in ("files", "spool")
        for name, value in (("disk_size_bytes", size), ("disk_free_bytes", size * (1 - used_share)))
    ]
    redis = [
        Sample("redis_memory_bytes", {"kind": kind}, value)
        for kind, value in (("used", limit * redis_share), ("limit", limit))
    ]
    return (*disks, *redis, Sample("media_paused", {}, float(is_paused)))


async def test_memory_and_disks_are_yellow_at_70_and_red_at_90_percent(app: App, operator: Browser) -> None:
    for used_share, redis_share, chips in (
        (0.5, 0.1, ["ok", "ok"]),
        (0.75, 0.8, ["warn", "warn"]),
        (0.93, 0.95, ["bad", "bad"]),
    ):
        await report(
            app, samples=make_samples(used_share=used_share, redis_share=redis_share, is_paused=False)
        )
        await operator.open("./operations")
        section = operator.page.partition('id="resources"')[2].partition("</ul>")[0]
        assert re.findall(r'class="chip (\w+)"', section) == chips
    assert "files of posts, unfinished downloads" in " ".join(section.split())
    assert "152.6 MB" in section
    assert "downloads-paused" not in operator.page


async def test_the_page_says_that_files_wait_for_room_and_posts_do_not(app: App, operator: Browser) -> None:
    await report(app, samples=make_samples(used_share=0.95, redis_share=0.1, is_paused=True))
    await operator.open("./operations")
    assert "Files of posts are not downloaded" in operator.page
    assert "Posts are still stored" in operator.page
