"""The settings for connections to Telegram: from the environment,
else what the operator has entered and sealed for ingest.
"""

import asyncio

from pydantic import SecretStr

from telegram_assistant.domain.accounts.setup import (
    REPORTED_EVERY_SECONDS,
    TelegramSecret,
    load_application,
    load_proxy,
)
from telegram_assistant.errors import Busy
from telegram_assistant.settings import ProxyType, TelegramSettings
from telegram_assistant.stores.postgres.accounts.telegram_setup import SealedSecret, TelegramSecrets
from telegram_assistant.supervision import sleep_unless
from telegram_assistant.telegram.sealed_answers import seal
from telegram_assistant.telegram.vault import Vault
from telegram_assistant.telemetry.outages import OutageLog

PART = "telegram setup"


class TelegramConnectionSettings:
    """Reads the current settings, and reports for which key secrets are to be sealed."""

    def __init__(self, environment: TelegramSettings, *, secrets: TelegramSecrets, vault: Vault) -> None:
        self._environment = environment
        self._secrets = secrets
        self._vault = vault

    @property
    def from_environment(self) -> frozenset[TelegramSecret]:
        application = (
            {TelegramSecret.APPLICATION}
            if self._environment.api_id and self._environment.api_hash.get_secret_value()
            else set()
        )
        return frozenset(application | ({TelegramSecret.PROXY} if self._environment.proxy_addr else set()))

    async def current(self) -> TelegramSettings:
        """Return the settings for the next connection.

        Raises CannotStart if a secret was sealed with a key that is not set.
        """
        changed_settings: dict[str, object] = {}
        for name, sealed_secret in (await self._secrets.all()).items():
            if name in self.from_environment:
                continue
            text = await self._open(name, sealed_secret)
            if name is TelegramSecret.APPLICATION:
                application = load_application(text)
                changed_settings |= {
                    "api_id": application.api_id,
                    "api_hash": SecretStr(application.api_hash),
                }
            else:
                proxy = load_proxy(text)
                changed_settings |= {
                    "proxy_type": ProxyType(proxy.kind),
                    "proxy_addr": proxy.address,
                    "proxy_port": proxy.port,
                }
                changed_settings |= {
                    "proxy_username": proxy.username,
                    "proxy_password": SecretStr(proxy.password),
                }
        return self._environment.model_copy(update=changed_settings)

    async def report(self) -> None:
        public_key = self._vault.receiver(self._vault.key_id).public_key
        await self._secrets.report(
            key_id=self._vault.key_id, public_key=public_key, from_environment=self.from_environment
        )

    async def run(self, stopping: asyncio.Event) -> None:
        """Report again and again, so that pages know whether ingest is running."""
        outage = OutageLog(PART)
        while not stopping.is_set():
            try:
                await self.report()
                outage.log_recovery()
            except Busy as busy:
                outage.log_failure(busy)
            await sleep_unless(stopping, REPORTED_EVERY_SECONDS)

    async def _open(self, name: TelegramSecret, sealed_secret: SealedSecret) -> str:
        text = self._vault.receiver(sealed_secret.key_id).open(sealed_secret.content, question=name.value)
        if sealed_secret.key_id != self._vault.key_id:
            content = seal(text, self._vault.receiver(self._vault.key_id).public_key, question=name.value)
            await self._secrets.reseal(name, sealed_secret, SealedSecret(self._vault.key_id, content))
        return text
