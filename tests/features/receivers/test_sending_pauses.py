"""A pause holds, whatever becomes of the attempt that was under way when it began."""

import asyncio

import pytest

from telegram_assistant.domain.receivers.delivery import ReceiverKind
from testkit.receiving import Webhook
from tests.conftest import Admin
from tests.features.receivers.test_sending import SendingTenant, desk, webhook

__all__ = ["desk", "webhook"]

REASON = "the person who made this receiver is no longer a member"


@pytest.mark.parametrize("status", [200, 503])
async def test_an_attempt_under_way_does_not_end_a_pause_nor_its_reason(
    desk: SendingTenant, webhook: Webhook, admin: Admin, status: int
) -> None:
    receiver_id = await desk.receive(ReceiverKind.WEBHOOK, webhook.url)
    webhook.status, webhook.answers_after_seconds = status, 0.5
    await desk.raise_alert()
    sending = asyncio.create_task(desk.send())
    async with asyncio.timeout(20):
        while not await admin.fetchval("SELECT attempts FROM deliveries WHERE receiver_id = $1", receiver_id):
            await asyncio.sleep(0.02)
    await admin.execute(
        "UPDATE receivers SET paused_at = now(), trouble = $2 WHERE receiver_id = $1", receiver_id, REASON
    )
    await sending
    state = await desk.state()
    assert state.paused_at is not None
    assert str(state.trouble) == REASON
