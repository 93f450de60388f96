"""The page of AI and cost: what leaves this machine, what was spent, and the price before it is spent."""

from pydantic import SecretStr

from telegram_assistant.assembly import App, assemble
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.web_clients import Browser, member_browser
from tests.conftest import Admin
from tests.web.feed.test_feed import make_followed
from tests.web.managing_world import build_managed
from tests.web.test_pages_languages import english_in


async def load_policy(app: App, tenant_id: TenantId, channel_id: ChannelId) -> AiPolicy:
    return next(
        policy.chosen
        for policy in await app.tenant(tenant_id).ai.policies()
        if policy.channel_id == channel_id
    )


async def test_without_a_provider_the_page_says_that_everything_is_done_here(owner: Browser) -> None:
    page = (await owner.open("./ai")).text
    assert "This server does all the work." in page
    assert "The operator of this server can add a provider." in page
    assert "GIGACHAT_CREDENTIALS" not in page
    assert "No spending." in page
    assert "No budget is set" in page


async def test_a_channel_goes_to_a_provider_only_after_the_consent(
    app: App, owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "Мост открыт")
    await owner.open("./ai")
    refused = await owner.submit("./ai/policies", channel=str(channel_id), policy="provider")
    assert refused.status_code == 409
    await owner.open("./ai")
    await owner.submit("./ai/consent")
    await owner.open("./ai")
    assert (
        await owner.submit("./ai/policies", channel=str(channel_id), policy="provider")
    ).status_code == 303
    assert await load_policy(app, tenant_id, channel_id) is AiPolicy.PROVIDER
    await owner.open("./ai")
    await owner.submit("./ai/consent/withdraw")
    assert "a provider is selected, but consent is missing" in (await owner.open("./ai")).text
    actions = [entry.change.action for entry in await app.tenant(tenant_id).audit.newest(limit=3)]
    assert actions == ["withdraw_consent", "choose_policies", "give_consent"]


async def test_the_price_is_shown_before_anything_is_ordered(
    installation: Settings, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "Мост открыт", "Мост закрыт")
    await admin.execute("INSERT INTO ai_consents (tenant_id, given_by) VALUES ($1, 'anna')", tenant_id)
    await admin.execute("UPDATE subscriptions SET ai_policy = 'provider' WHERE tenant_id = $1", tenant_id)
    paid = installation.gigachat.model_copy(update={"credentials": SecretStr("a secret")})
    async with (
        assemble(installation.model_copy(update={"gigachat": paid})) as app,
        member_browser(app, tenant_id) as owner,
    ):
        page = (await owner.open("./ai?days=7")).text
        assert "2 posts, free" in page
        assert "Analyse for at most" in page
        assert "api.giga.chat" in page
        assert "a secret" not in page
        wanted = "SELECT count(*) FROM provider_wanted WHERE channel_id = $1"
        assert await admin.fetchval(wanted, channel_id) == 0
        ordered = await owner.submit("./ai/history", days="7", paid="no")
        assert await admin.fetchval(wanted, channel_id) == 0
        await owner.open("./ai?days=7")
        ordered = await owner.submit("./ai/history", days="7", paid="yes")
        assert await admin.fetchval(wanted, channel_id) == 2
        assert "2 posts wait for the provider" in (await owner.open(ordered.headers["location"])).text


async def test_days_that_nobody_has_are_refused(owner: Browser) -> None:
    assert (await owner.open("./ai?days=0")).status_code == 422
    assert (await owner.open("./ai?days=x")).status_code == 422
    assert (await owner.open("./ai?days=1000")).status_code == 422


async def test_what_was_spent_is_drawn_by_day_and_named_by_provider_and_purpose(
    owner: Browser, admin: Admin, tenant_id: TenantId
) -> None:
    await build_managed(admin, tenant_id)
    page = (await owner.open("./ai")).text
    assert page.count('class="bar-day"') == 4
    assert "17.40\N{NO-BREAK SPACE}RUB for 4 calls." in page
    assert "tags and names" in page
    assert "212.40\N{NO-BREAK SPACE}RUB" in page


async def test_only_the_operator_sets_the_budget(app: App, owner: Browser, admin: Admin) -> None:
    assert "The operator of this installation sets the limit." in (await owner.open("./ai")).text
    assert (await owner.submit("./ai/budget", money="500")).status_code == 404
    operator = await app.api.key_directory.operator()
    async with member_browser(app, operator.tenant_id) as browser:
        await browser.open("./ai")
        assert (await browser.submit("./ai/budget", money="12,50")).status_code == 303
    assert (
        await admin.fetchval("SELECT money_micro FROM budgets WHERE tenant_id = $1", operator.tenant_id)
        == 12_500_000
    )


async def test_a_viewer_reads_and_changes_nothing(app: App, tenant_id: TenantId) -> None:
    async with member_browser(app, tenant_id, role=MemberRole.VIEWER) as viewer:
        assert "/ai/consent" not in (await viewer.open("./ai")).text
        assert (await viewer.submit("./ai/consent")).status_code == 403


async def test_the_page_and_its_refusals_are_in_russian(app: App, admin: Admin, tenant_id: TenantId) -> None:
    await build_managed(admin, tenant_id)
    async with member_browser(app, tenant_id, language="ru") as browser:
        for path in ("./ai", "./ai?days=7", "./ai?days=1000", "./ai?done=queued&local=2&provider=1"):
            await browser.open(path)
            assert english_in(browser.page) == [], path
        for path, fields in (
            ("./ai/policies", {"policy": "local"}),
            ("./ai/default", {"policy": "king"}),
            ("./ai/default", {"policy": "provider"}),
        ):
            await browser.open("./ai")
            await browser.submit(path, fields)
            assert english_in(browser.page) == [], path
