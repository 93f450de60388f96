"""An installation's connection to Telegram: its application, and a proxy if it needs one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

REPORTED_EVERY_SECONDS = 10.0
SILENT_AFTER = timedelta(seconds=45)
"""Ingest reports every ten seconds; after so long without a report it is not running."""


class TelegramSecret(StrEnum):
    """A secret that ingest needs to connect.

    It comes from the environment, or the operator enters it, and it is sealed for ingest.
    """

    APPLICATION = "application"
    PROXY = "proxy"


@dataclass(frozen=True, slots=True)
class Application:
    """An application of the operator at Telegram, from my.telegram.org."""

    api_id: int
    api_hash: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy between ingest and Telegram."""

    kind: str
    address: str
    port: int
    username: str = ""
    password: str = field(default="", repr=False)


def dump_application(application: Application) -> str:
    """The text that is sealed."""
    return json.dumps([application.api_id, application.api_hash])


def load_application(text: str) -> Application:
    return Application(*json.loads(text))


def dump_proxy(proxy: Proxy) -> str:
    """The text that is sealed."""
    return json.dumps([proxy.kind, proxy.address, proxy.port, proxy.username, proxy.password])


def load_proxy(text: str) -> Proxy:
    return Proxy(*json.loads(text))


@dataclass(frozen=True, slots=True)
class EnteredSecret:
    """A secret that the operator has entered; `visible_part` is the part of it that pages may show."""

    visible_part: str
    entered_by: str
    entered_at: datetime


@dataclass(frozen=True, slots=True)
class TelegramSetup:
    """How far an installation is connected to Telegram, as the database knows it."""

    key_id: str | None
    public_key: bytes | None
    """The key that secrets are sealed for. None until ingest has run with a SESSION_ENCRYPTION_KEY."""
    reported_at: datetime | None
    from_environment: frozenset[TelegramSecret]
    entered: Mapping[TelegramSecret, EnteredSecret]

    @property
    def has_application(self) -> bool:
        return (
            TelegramSecret.APPLICATION in self.from_environment or TelegramSecret.APPLICATION in self.entered
        )

    def is_running(self, now: datetime) -> bool:
        """Whether an ingest role that can log in was heard of lately."""
        return self.reported_at is not None and now - self.reported_at < SILENT_AFTER
