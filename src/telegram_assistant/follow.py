"""The ingest role: the loops that follow Telegram."""

from functools import partial

from telegram_assistant.assembly import App
from telegram_assistant.ingest.walk import PART, walking
from telegram_assistant.supervision import Loop
from telegram_assistant.telegram.reader import open_reader
from telegram_assistant.telemetry.health import Health, State


def loops(app: App, health: Health) -> tuple[Loop, ...]:
    """Nothing to do without an account."""
    telegram = app.settings.telegram
    if not telegram.session_string.get_secret_value():
        health.report(PART, State.OK, "no account: set TELEGRAM_SESSION_STRING, TELEGRAM_API_ID and TELEGRAM_API_HASH")
        return ()
    return (walking(partial(open_reader, telegram), channels=app.system.channels, landing=app.system.landing, health=health),)
