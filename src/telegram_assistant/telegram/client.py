"""Telethon's client, opened for one account and closed again."""

import asyncio
import random
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from telethon import TelegramClient, errors, functions
from telethon.sessions import StringSession

from telegram_assistant import __version__
from telegram_assistant.errors import Busy, CannotStart
from telegram_assistant.settings import TelegramSettings

ANSWER_SECONDS = 30.0
"""Telethon itself would wait for ever."""
REFUSALS = (errors.UnauthorizedError, errors.AuthKeyError, errors.AuthKeyNotFound)
"""The login is over. Everything else may be better in a while."""


@asynccontextmanager
async def open_client(settings: TelegramSettings, session_string: str) -> AsyncIterator[TelegramClient]:
    """Connected and logged in. CannotStart when the session is of no use, Busy when Telegram is away.

    Waits that Telegram asks for are raised, never slept through inside a call: whoever asked decides when to ask again.
    """
    if not (settings.api_id and settings.api_hash.get_secret_value()):
        raise CannotStart("there is no application to log in with", remedy="Set TELEGRAM_API_ID and TELEGRAM_API_HASH, from my.telegram.org")
    try:
        session = StringSession(session_string)
    except (ValueError, struct.error) as error:
        raise CannotStart(
            "the session is none of Telethon's", remedy="Set TELEGRAM_SESSION_STRING to the whole line that a login has printed"
        ) from error
    if settings.dc_addr:
        session.set_dc(session.dc_id, settings.dc_addr, settings.dc_port)
    client = TelegramClient(
        session,
        settings.api_id,
        settings.api_hash.get_secret_value(),
        flood_sleep_threshold=0,
        raise_last_call_error=True,
        receive_updates=False,
        connection_retries=1,
        app_version=__version__,
    )
    try:
        try:
            async with telegrams_answer():
                await client.connect()
                await client(functions.updates.GetStateRequest())
        except REFUSALS as error:
            raise CannotStart(f"Telegram refuses the session ({type(error).__name__})", remedy="Log in again") from error
        yield client
    finally:
        await client.disconnect()


@asynccontextmanager
async def telegrams_answer() -> AsyncIterator[None]:
    """What Telegram asks to wait for, and its absence, are Busy."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            yield
    except (errors.FloodWaitError, errors.FloodPremiumWaitError) as error:
        wait = error.seconds + random.uniform(0, 3)  # noqa: S311 -- jitter
        raise Busy(f"Telegram asks to wait {error.seconds} s", retry_after_seconds=wait) from error
    except (OSError, TimeoutError, errors.ServerError, errors.TimedOutError) as error:
        raise Busy(f"Telegram does not answer ({type(error).__name__})", retry_after_seconds=10) from error
