"""Seals what a person types to log in for the one process that asked: the database never sees a code or a
password.

The asking process creates a key pair and keeps the private key in memory. The answering side creates one per
answer, so only their shared secret opens the answer (X25519, HKDF, AES-GCM), and only as the answer to that
question. In the other direction, the program that shows a QR code sends a key, because the link logs in the
first person who opens it. That key is derived from a secret that several processes share, so that each of
them can show the code.
"""

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason

KEY_BYTES = 32
NONCE = bytes(12)
"""Each key seals one answer, so the nonce may be constant."""


class AnswerReceiver:
    """The side that asks."""

    def __init__(self, private: X25519PrivateKey | None = None) -> None:
        self._private = private or X25519PrivateKey.generate()

    @property
    def public_key(self) -> bytes:
        return self._private.public_key().public_bytes_raw()

    def open(self, sealed_bytes: bytes, *, question: str) -> str:
        """Open an answer. Raises Rejected if it was sealed for another key or another question."""
        try:
            peer_key = X25519PublicKey.from_public_bytes(sealed_bytes[:KEY_BYTES])
            return (
                _cipher(self._private, peer_key)
                .decrypt(NONCE, sealed_bytes[KEY_BYTES:], question.encode())
                .decode()
            )
        except (InvalidTag, ValueError) as error:
            raise Rejected(
                Reason("login_answer_not_sealed", "the answer was not sealed for this question")
            ) from error


def derive_receiver(secret: bytes, purpose: str) -> AnswerReceiver:
    """Return the receiver that everybody who has the secret derives for this purpose."""
    derived_bytes = HKDF(SHA256(), KEY_BYTES, salt=None, info=b"tga receiver " + purpose.encode()).derive(
        secret
    )
    return AnswerReceiver(X25519PrivateKey.from_private_bytes(derived_bytes))


def seal(answer: str, public_key: bytes, *, question: str) -> bytes:
    """Seal an answer, on the side that answers."""
    own_key = X25519PrivateKey.generate()
    cipher = _cipher(own_key, X25519PublicKey.from_public_bytes(public_key))
    return own_key.public_key().public_bytes_raw() + cipher.encrypt(NONCE, answer.encode(), question.encode())


def _cipher(own_key: X25519PrivateKey, peer_key: X25519PublicKey) -> AESGCM:
    shared_bytes = own_key.exchange(peer_key)
    return AESGCM(HKDF(SHA256(), KEY_BYTES, salt=None, info=b"tga login answer").derive(shared_bytes))
