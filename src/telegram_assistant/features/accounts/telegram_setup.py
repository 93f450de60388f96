"""Connecting the installation to Telegram: the application and the proxy,
which the operator enters and only ingest can read.
"""

import re

from telegram_assistant.domain.accounts.setup import (
    Application,
    Proxy,
    TelegramSecret,
    TelegramSetup,
    dump_application,
    dump_proxy,
)
from telegram_assistant.errors import Conflicting, Forbidden, Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.accounts.telegram_setup import OwnTelegramSetup
from telegram_assistant.telegram.sealed_answers import seal

HASH = re.compile("[0-9a-f]{32}")
ADDRESS = re.compile(r"[A-Za-z0-9.:_\-\[\]]{1,253}")
MAX_API_ID = 2**31 - 1
MAX_PORT = 65535
MAX_LETTERS = 200
OPERATOR_ONLY = Reason(
    "setup_operator_only",
    "only an owner of the operator's tenant can change how this installation connects to Telegram",
)
NO_KEY = Reason(
    "setup_no_key",
    "no key can seal this secret yet: first start the ingest role with SESSION_ENCRYPTION_KEY",
)


async def enter_application(
    application: Application, *, is_at_simulator: bool, setup: OwnTelegramSetup, entered_by: str
) -> None:
    """Seals the application for ingest.

    Raises Rejected if it is not what my.telegram.org shows; a simulator takes any.
    """
    api_id = application.api_id
    letters = application.api_hash if is_at_simulator else application.api_hash.lower()
    if not 0 < api_id <= MAX_API_ID:
        raise Rejected(Reason("api_id_invalid", "api_id is a number; copy it from my.telegram.org"))
    if is_at_simulator and not 0 < len(letters) <= MAX_LETTERS:
        raise Rejected(
            Reason(
                "api_hash_of_simulator_invalid",
                "api_hash is empty or too long; a simulator accepts any other",
            )
        )
    if not is_at_simulator and not HASH.fullmatch(letters):
        raise Rejected(
            Reason(
                "api_hash_invalid",
                "api_hash has 32 characters, digits and letters a to f; copy it from my.telegram.org",
            )
        )
    text = dump_application(Application(api_id, letters))
    await _enter(TelegramSecret.APPLICATION, text, display=str(api_id), setup=setup, entered_by=entered_by)


async def enter_proxy(proxy: Proxy, *, setup: OwnTelegramSetup, entered_by: str) -> None:
    """Seals the proxy for ingest. Raises Rejected if its address or its port cannot be one."""
    if not ADDRESS.fullmatch(proxy.address) or max(len(proxy.username), len(proxy.password)) > MAX_LETTERS:
        raise Rejected(
            Reason(
                "proxy_address_invalid",
                "the address of a proxy is a host name or an IP address, without a port",
            )
        )
    if not 0 < proxy.port <= MAX_PORT:
        raise Rejected(Reason("proxy_port_invalid", "a port is a number from 1 to {most}", most=MAX_PORT))
    display = f"{proxy.kind} {proxy.address}:{proxy.port}"
    await _enter(TelegramSecret.PROXY, dump_proxy(proxy), display=display, setup=setup, entered_by=entered_by)


async def forget_proxy(*, setup: OwnTelegramSetup) -> None:
    """Connects without a proxy from now on."""
    await setup.forget(TelegramSecret.PROXY)


async def _enter(
    name: TelegramSecret, text: str, *, display: str, setup: OwnTelegramSetup, entered_by: str
) -> None:
    stored_setup: TelegramSetup = await setup.get()
    if stored_setup.public_key is None or stored_setup.key_id is None:
        raise Conflicting(NO_KEY)
    sealed_bytes = seal(text, stored_setup.public_key, question=name.value)
    if not await setup.enter(
        name, display=display, key_id=stored_setup.key_id, sealed_bytes=sealed_bytes, entered_by=entered_by
    ):
        raise Forbidden(OPERATOR_ONLY)
