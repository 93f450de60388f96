"""How often somebody may try a password, the first owner's code, or a name that may be taken.

Attempts with a name are counted in each network, so that strangers lock nobody out. A name that is tried from
everywhere is limited, too, but not in browsers where its person has logged in before; they are counted one by
one.
"""

import hashlib
import math

from telegram_assistant.errors import Busy, Rejected, Throttled
from telegram_assistant.features.operations.process_secret import secret_of
from telegram_assistant.features.people.passwords import PasswordQueue
from telegram_assistant.features.people.people import hash_name, record_login_alarm
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.redis.limiter import network_of
from telegram_assistant.stores.redis.rate_limits import Bucket, BucketOwner
from telegram_assistant.telemetry.logging import get_logger
from telegram_assistant.telemetry.metrics import LOGINS_LIMITED
from telegram_assistant.web.access.known_browsers import known_browser
from telegram_assistant.web.views import Content, PersonView, View

log = get_logger()

ATTEMPTS_PER_MINUTE = 6
ATTEMPTS_AT_ONCE = 10
NETWORK_PER_MINUTE = 20
NETWORK_AT_ONCE = 30
NAME_PER_MINUTE = 30
NAME_AT_ONCE = 100
ALARMS_PER_MINUTE = 1 / 60
TRIED_NAMES_PER_MINUTE = 1 / 10
TRIED_NAMES_AT_ONCE = 5
TENANT_NAMES_PER_MINUTE = 1 / 10
TENANT_NAMES_AT_ONCE = 60


def bucket_of_name(hashed: str) -> Bucket:
    """Attempts with a name from everywhere."""
    return Bucket(BucketOwner.LOGINS_OF, hashed, NAME_PER_MINUTE, NAME_AT_ONCE)


def bucket_of_tried_names(tenant: str) -> Bucket:
    """Names tried with all invitations of a tenant."""
    return Bucket(BucketOwner.NAMES_TRIED, tenant, TENANT_NAMES_PER_MINUTE, TENANT_NAMES_AT_ONCE)


async def limit_login(view: View, name: str) -> PasswordQueue:
    """Counts an attempt and says in which queue it waits. Raises Throttled after too many."""
    browser = known_browser(view, name)
    if browser is not None:
        await _count(view, Bucket(BucketOwner.LOGINS_IN, browser, ATTEMPTS_PER_MINUTE, ATTEMPTS_AT_ONCE))
        return PasswordQueue.KNOWN_BROWSER
    hashed_text, network = hash_name(name, secret_of(view.app.settings)), network_of(view.client.address)
    try:
        await _count(
            view,
            Bucket(BucketOwner.LOGINS_FROM, network, NETWORK_PER_MINUTE, NETWORK_AT_ONCE),
            Bucket(
                BucketOwner.LOGINS_OF_FROM, f"{hashed_text} {network}", ATTEMPTS_PER_MINUTE, ATTEMPTS_AT_ONCE
            ),
            bucket_of_name(hashed_text),
        )
    except _NameLimited:
        await _raise_alarm(view, name, hashed_text, network)
        raise
    return PasswordQueue.LOGIN


async def limit_owner_codes(view: View) -> None:
    """Counts an attempt with the first owner's code."""
    await _count(
        view,
        Bucket(
            BucketOwner.LOGINS_FROM, network_of(view.client.address), ATTEMPTS_PER_MINUTE, ATTEMPTS_AT_ONCE
        ),
    )


async def limit_password_changes(view: PersonView) -> None:
    """Counts an attempt to change a password: who has stolen a session guesses the old one here."""
    await _count(
        view,
        Bucket(BucketOwner.PASSWORDS_OF, str(view.person.user_id), ATTEMPTS_PER_MINUTE, ATTEMPTS_AT_ONCE),
    )


async def limit_tried_names(view: View, link: str, tenant: str) -> None:
    """Counts an attempt to join with a name, for the invitation and for its tenant:
    an answer tells whether somebody has the name.
    """
    hashed_text = hashlib.sha256(link.encode()).hexdigest()
    await _count(
        view,
        Bucket(BucketOwner.NAMES_TRIED, hashed_text, TRIED_NAMES_PER_MINUTE, TRIED_NAMES_AT_ONCE),
        bucket_of_tried_names(tenant),
    )


def with_error(content: Content, error: Rejected | Busy) -> Content:
    """The page again, with what is wrong, and the status that programs understand if the caller must wait."""
    if not isinstance(error, Busy):
        return {**content, "error": error.reason}
    status = 429 if isinstance(error, Throttled) else 503
    return {
        **content,
        "error": error.reason,
        "http_status": status,
        "retry_after": math.ceil(error.retry_after_seconds),
    }


class _NameLimited(Throttled):
    """The name was tried too often, from everywhere together."""


async def _count(view: View, *buckets: Bucket) -> None:
    decision = await view.limiter.take(*buckets)
    if decision.allowed:
        return
    LOGINS_LIMITED.labels(decision.bucket.counted_by.value).inc()
    reason = Reason(
        "too_many_logins",
        "too many attempts; wait {seconds:.0f} s and try again",
        seconds=math.ceil(decision.seconds),
    )
    kind = _NameLimited if decision.bucket.counted_by is BucketOwner.LOGINS_OF else Throttled
    raise kind(reason, retry_after_seconds=decision.seconds)


async def _raise_alarm(view: View, name: str, hashed_text: str, network: str) -> None:
    """Once an hour for each name."""
    alarm = Bucket(BucketOwner.LOGIN_ALARMS, hashed_text, ALARMS_PER_MINUTE, 1)
    if (await view.limiter.take(alarm)).allowed:
        log.warning("logins_of_name_limited", name_hash=hashed_text)
        await record_login_alarm(name, network=network, unknown_as=hashed_text, people=view.app.api.people)
