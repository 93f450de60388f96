"""Encrypts stored sessions. A session is a full login, so it is kept encrypted (AES-GCM) under a key that
only ingest reads.

SESSION_ENCRYPTION_KEY may hold several keys: the first one seals, all of them open. To change the key, put a
new one in front. Sessions are sealed with it when they are next used; then the old key can be removed.
"""

import base64
import hashlib
import hmac
import os
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import SESSION_KEY_BYTES, session_keys
from telegram_assistant.telegram.sealed_answers import AnswerReceiver, derive_receiver

NONCE_BYTES = 12
REMEDY = Reason(
    "set_session_key", "Set SESSION_ENCRYPTION_KEY to the output of `tga accounts key`, and keep a copy"
)


@dataclass(frozen=True, slots=True)
class Sealed:
    """An encrypted session and the id of its key."""

    key_id: str
    content: bytes


class Vault:
    """Seals and opens sessions."""

    def __init__(self, keys: dict[str, bytes], current_key_id: str) -> None:
        self._keys = keys
        self._current = current_key_id

    def seal(self, session: str, *, account_id: int) -> Sealed:
        """Seal a session for one account. It does not open in another account's row."""
        nonce = os.urandom(NONCE_BYTES)
        return Sealed(
            self._current,
            nonce
            + AESGCM(self._keys[self._current]).encrypt(
                nonce, session.encode(), _associated_data(account_id)
            ),
        )

    def open(self, sealed: Sealed, *, account_id: int) -> str:
        """Open a session. Raises CannotStart if its key is not set or the content was changed."""
        key = self._keys.get(sealed.key_id)
        if key is None:
            raise CannotStart(
                Reason(
                    "session_key_missing",
                    "account {account_id} was sealed with the key {key_id}, which is not set",
                    account_id=account_id,
                    key_id=sealed.key_id,
                ),
                remedy=REMEDY,
            )
        nonce, content = sealed.content[:NONCE_BYTES], sealed.content[NONCE_BYTES:]
        try:
            return AESGCM(key).decrypt(nonce, content, _associated_data(account_id)).decode()
        except InvalidTag as error:
            raise CannotStart(
                Reason(
                    "session_changed",
                    "the session of account {account_id} was changed outside this program",
                    account_id=account_id,
                ),
                remedy=Reason("log_in_again", "Log in again"),
            ) from error

    def is_outdated(self, sealed: Sealed) -> bool:
        return sealed.key_id != self._current

    @property
    def key_id(self) -> str:
        """The id of the key that seals."""
        return self._current

    def receiver(self, key_id: str) -> AnswerReceiver:
        """Return what opens secrets of the installation that others have sealed for ingest.

        Raises CannotStart if that key is not set.
        """
        key = self._keys.get(key_id)
        if key is None:
            raise CannotStart(
                Reason(
                    "setup_key_missing",
                    "the connection data was sealed with the key {key_id}, which is not set",
                    key_id=key_id,
                ),
                remedy=REMEDY,
            )
        return derive_receiver(key, "secrets of the installation")

    def prints(self, phone: str) -> list[bytes]:
        """Return keyed hashes of a phone number, which recognize it without storing it: one per key,
        that of the current key first.
        """
        digits = "".join(character for character in phone if character.isdecimal())
        names = sorted(self._keys, key=lambda name: name != self._current)
        return [hmac.digest(self._keys[name], b"phone " + digits.encode(), "sha256") for name in names]


def vault_of(text: str) -> Vault:
    """Build the vault from SESSION_ENCRYPTION_KEY. Raises CannotStart if it holds no key."""
    try:
        keys = session_keys(text)
    except ValueError as error:
        raise CannotStart(
            Reason("session_key_invalid", "SESSION_ENCRYPTION_KEY is not a valid key"), remedy=REMEDY
        ) from error
    if not keys:
        raise CannotStart(
            Reason("session_key_not_set", "sessions cannot be stored without a key"), remedy=REMEDY
        )
    return Vault({_name(key): key for key in keys}, _name(keys[0]))


def make_key() -> str:
    """Return a new key in the form for the environment."""
    return base64.urlsafe_b64encode(os.urandom(SESSION_KEY_BYTES)).decode()


def _name(key: bytes) -> str:
    """Return an id that tells keys apart without revealing them."""
    return hashlib.sha256(b"name of a key" + key).hexdigest()[:12]


def _associated_data(account_id: int) -> bytes:
    return f"account {account_id}".encode()
