"""What a person types to log in, sealed for the one process that asked: the database never sees a code or a password.

The asking process makes a key pair and keeps the private half in its memory. The door makes one for each answer, so that
only their shared secret opens it (X25519, HKDF, AES-GCM), and only as the answer to that question. The other way round, a
door asks for what it shall show: a link that logs in whoever opens it first.
"""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from telegram_assistant.errors import Rejected

KEY_BYTES = 32
NONCE = bytes(12)
"""Each key seals one answer, so the nonce may be the same."""


class AnswerReceiver:
    """The side that asks."""

    def __init__(self) -> None:
        self._private = X25519PrivateKey.generate()

    @property
    def public_key(self) -> bytes:
        return self._private.public_key().public_bytes_raw()

    def open(self, sealed: bytes, *, question: str) -> str:
        """Rejected when it was not sealed for us, or for another question."""
        try:
            theirs = X25519PublicKey.from_public_bytes(sealed[:KEY_BYTES])
            return _cipher(self._private, theirs).decrypt(NONCE, sealed[KEY_BYTES:], question.encode()).decode()
        except (InvalidTag, ValueError) as error:
            raise Rejected("the answer was not sealed for this question") from error


def seal(answer: str, public_key: bytes, *, question: str) -> bytes:
    """The side that answers."""
    mine = X25519PrivateKey.generate()
    cipher = _cipher(mine, X25519PublicKey.from_public_bytes(public_key))
    return mine.public_key().public_bytes_raw() + cipher.encrypt(NONCE, answer.encode(), question.encode())


def _cipher(mine: X25519PrivateKey, theirs: X25519PublicKey) -> AESGCM:
    shared = mine.exchange(theirs)
    return AESGCM(HKDF(SHA256(), KEY_BYTES, salt=None, info=b"tga login answer").derive(shared))
