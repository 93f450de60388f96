"""People in a real browser: which screens they have, and how they log in."""

import os
import secrets

import pytest
from playwright.async_api import Page

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.features.people.people import make_login_link
from testkit.chromium import ALL_DEVICES, DEVICES, Device, Hands

JOURNEYS = (
    [(device, by_keys) for device in ALL_DEVICES for by_keys in (True, False)]
    if os.environ.get("ALL_DEVICES")
    else [*zip(DEVICES, (True, False), strict=True)]
)
every_way = pytest.mark.parametrize(
    ("device", "by_keys"),
    JOURNEYS,
    ids=lambda parameter: (
        parameter.name if isinstance(parameter, Device) else "keys" if parameter else "mouse"
    ),
)
"""In CI by the keyboard alone on the desktop and by touch on the phone."""


async def log_in(
    page: Page, app: App, tenant_id: TenantId, *, role: MemberRole | None = None, by_keys: bool = False
) -> str:
    """Opens a one-time link, presses its button, and goes to the feed. Returns the path of the tenant."""
    member = await app.system.users.join(tenant_id, f"Анна {secrets.token_hex(3)}", role=role)
    token = await make_login_link(member.user_id, users=app.system.users, created_by="test")
    await page.goto(f"/link/{token}")
    await Hands(page, by_keys).press(page.locator("main button"))
    base = str(await page.locator("body.in-app").get_attribute("data-base"))
    await page.goto(f"{base}/feed")
    return base
