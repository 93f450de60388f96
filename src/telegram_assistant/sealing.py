"""Seals short texts with the secret of the installation, each for one purpose:
what is sealed for one does not open for another.
"""

import base64
import hmac
import os
from binascii import Error as NotBase64

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

KEY_BYTES = 32
NONCE_BYTES = 12
CODE_LETTERS = 8
NO_SECRET_KEY = Reason(
    "secret_key_not_set",
    "this server cannot store secrets yet; its operator can enable that",
)


class Sealer:
    """Needs SECRET_KEY. Without one nothing can be sealed, and nothing opens."""

    def __init__(self, secret_key: str) -> None:
        self._keys = _derive_keys(secret_key) if secret_key else None

    @property
    def is_usable(self) -> bool:
        return self._keys is not None

    def seal(self, text: str, *, purpose: str) -> str:
        """Returns letters that may stand in an address. Raises Rejected without SECRET_KEY."""
        cipher, _ = self._require_keys()
        nonce = os.urandom(NONCE_BYTES)
        return (
            base64.urlsafe_b64encode(nonce + cipher.encrypt(nonce, text.encode(), purpose.encode()))
            .decode()
            .rstrip("=")
        )

    def open(self, sealed_text: str, *, purpose: str) -> str | None:
        """Returns None if it was not sealed for this purpose with this key."""
        if self._keys is None:
            return None
        try:
            content = base64.b64decode(
                sealed_text + "=" * (-len(sealed_text) % 4), altchars=b"-_", validate=True
            )
            return (
                self._keys[0].decrypt(content[:NONCE_BYTES], content[NONCE_BYTES:], purpose.encode()).decode()
            )
        except (InvalidTag, NotBase64, ValueError):
            return None

    def code_for(self, purpose: str) -> str:
        """A code of eight letters and digits that a person can type: the same for the same purpose.

        Raises Rejected without SECRET_KEY.
        """
        _, key = self._require_keys()
        return base64.b32encode(hmac.digest(key, purpose.encode(), "sha256")).decode()[:CODE_LETTERS]

    def _require_keys(self) -> tuple[AESGCM, bytes]:
        if self._keys is None:
            raise Rejected(NO_SECRET_KEY)
        return self._keys


def _derive_keys(secret_key: str) -> tuple[AESGCM, bytes]:
    derived_bytes = HKDF(SHA256(), 2 * KEY_BYTES, salt=None, info=b"tga sealed texts and codes").derive(
        secret_key.encode()
    )
    return AESGCM(derived_bytes[:KEY_BYTES]), derived_bytes[KEY_BYTES:]
