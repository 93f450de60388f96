"""Redis."""

from typing import Annotated

from pydantic import SecretStr

from telegram_assistant.settings.declaring import SettingsGroup, require_scheme, variable

RedisUrl = Annotated[SecretStr, require_scheme("redis", "rediss")]


class RedisSettings(SettingsGroup):
    """Redis: delivery, leases, caches."""

    url: RedisUrl = variable(
        "REDIS_URL", help="Redis 7 or newer, with appendonly on and maxmemory-policy noeviction."
    )
