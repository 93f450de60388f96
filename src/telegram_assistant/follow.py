"""The ingest role: the loops that follow Telegram."""

import asyncio

from telegram_assistant.assembly import App
from telegram_assistant.domain.account import Lease
from telegram_assistant.ingest.accounts import PART, Holder, adopt
from telegram_assistant.ingest.walk import walk
from telegram_assistant.supervision import Loop
from telegram_assistant.telegram.reader import open_reader
from telegram_assistant.telegram.vault import vault_of
from telegram_assistant.telemetry.health import Health, State


def loops(app: App, health: Health) -> tuple[Loop, ...]:
    """Nothing to do without a key for sessions; CannotStart when there is a session and no key to keep it under."""
    telegram, system = app.settings.telegram, app.system
    given = telegram.session_string.get_secret_value()
    key = telegram.encryption_key.get_secret_value()
    if not (key or given):
        health.report(PART, State.OK, "no account: set TELEGRAM_API_ID, TELEGRAM_API_HASH, TELEGRAM_SESSION_STRING and SESSION_ENCRYPTION_KEY")
        return ()
    vault = vault_of(key)

    async def use(session: str, lease: Lease, stopping: asyncio.Event) -> None:
        async with open_reader(telegram, session, lease) as reader:
            await walk(reader, channels=system.channels, landing=system.landing, health=health, stopping=stopping)

    holder = Holder(use, owner=app.instance, accounts=system.accounts, vault=vault, health=health)

    async def run(stopping: asyncio.Event) -> None:
        if given:
            await adopt(given, accounts=system.accounts, tenants=system.tenants, vault=vault)
        await holder.run(stopping)

    return (Loop(PART, run),)
