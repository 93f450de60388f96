"""The secret that the api processes of an installation share: SECRET_KEY or, without one,
a secret of this process alone.
"""

import secrets
from functools import cache

from telegram_assistant.settings import Settings


def secret_of(settings: Settings) -> bytes:
    return settings.web.secret_key.get_secret_value().encode() or _own_secret()


@cache
def _own_secret() -> bytes:
    return secrets.token_bytes(32)
