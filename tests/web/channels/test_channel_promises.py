"""The promise of freshness on the page of a channel."""

import pytest

from telegram_assistant.domain.channels.health import PROMISED
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.web_clients import Browser
from tests.conftest import Admin
from tests.web.channels.test_channels import make_named_channel


@pytest.mark.parametrize("priority", Priority)
async def test_the_page_of_a_channel_names_the_promise_of_its_priority(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId, priority: Priority
) -> None:
    channel_id = await make_named_channel(system, admin, tenant_id, "Promised", priority=priority)
    page = (await owner.open(f"./channels/{channel_id}")).text
    minutes = int(PROMISED[priority].total_seconds() // 60)
    assert f"Your priority is {priority.value}: new posts should arrive within {minutes} minutes." in page
