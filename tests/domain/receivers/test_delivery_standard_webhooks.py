"""Our signatures are those of Standard Webhooks: its own library verifies them,
and refuses whatever was changed.
"""

import random
import time

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from telegram_assistant.domain.receivers.delivery import new_secret, sign, signatures

ROUNDS = 1000
JSON_LETTERS = 'abcЁжé€😀 \\"{}[]:,0123456789\n\t'


def random_body(chance: random.Random) -> bytes:
    text = "".join(chance.choices(JSON_LETTERS, k=chance.randrange(0, 400)))
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return f'{{"type": "alert.raised", "data": {{"text": "{escaped}"}}}}'.encode()


def sign_body(secrets: list[str], body: bytes, chance: random.Random) -> dict[str, str]:
    message_id, stamp = f"{chance.getrandbits(128):032x}", int(time.time())
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(stamp),
        "webhook-signature": signatures(secrets, message_id, stamp, body),
    }


def test_standard_webhooks_verifies_a_thousand_random_bodies() -> None:
    chance = random.Random(20261118)
    for _ in range(ROUNDS):
        secret, body = new_secret(), random_body(chance)
        Webhook(secret).verify(body, sign_body([secret], body, chance))


def test_standard_webhooks_refuses_a_thousand_changed_requests() -> None:
    chance = random.Random(20261119)
    for _ in range(ROUNDS):
        secret, body = new_secret(), random_body(chance)
        headers = sign_body([secret], body, chance)
        match chance.randrange(4):
            case 0:
                text = body.decode()
                place = chance.randrange(len(text))
                body = (text[:place] + chr(ord(text[place]) + 1) + text[place + 1 :]).encode()
            case 1:
                headers["webhook-id"] += "x"
            case 2:
                headers["webhook-timestamp"] = str(int(headers["webhook-timestamp"]) - 1)
            case _:
                secret = new_secret()
        with pytest.raises(WebhookVerificationError):
            Webhook(secret).verify(body, headers)


def test_standard_webhooks_accepts_both_secrets_while_one_replaces_the_other() -> None:
    chance = random.Random(7)
    old, new, body = new_secret(), new_secret(), b'{"type": "digest.ready"}'
    headers = sign_body([new, old], body, chance)
    for secret in (old, new):
        Webhook(secret).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(body, headers)


def test_standard_webhooks_signs_as_we_do() -> None:
    """The vector of the specification."""
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    assert (
        sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )
