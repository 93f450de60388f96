"""How often a password is tried, from where, and what that means for those who know it."""

from pydantic import SecretStr

from telegram_assistant.assembly import assemble
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.settings import Settings
from testkit.engines import free_port
from testkit.web_clients import browser_of
from tests.web.test_people import person_with_password


def without_redis(settings: Settings) -> Settings:
    url = SecretStr(f"redis://127.0.0.1:{free_port()}/0")
    return settings.model_copy(update={"redis": settings.redis.model_copy(update={"url": url})})


async def test_logins_are_limited_while_redis_is_away(installation: Settings, tenant_id: TenantId) -> None:
    async with assemble(without_redis(installation), needs_redis=False) as app, browser_of(app) as stranger:
        name = await person_with_password(app, tenant_id)
        await stranger.open("/login")
        answers = [(await stranger.submit("/login", name=name, password="x", next="/")).text for _ in range(12)]
    assert "Too many attempts" not in answers[0]
    assert "Too many attempts" in answers[-1]
