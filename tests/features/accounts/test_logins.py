"""Logins as the CLI and the pages use them: which process can show a QR code, and what an answer may be."""

from uuid import UUID

import pytest

from telegram_assistant.domain.accounts.login import INTERRUPTED, LoginState, LoginWay
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.features.accounts.logins import (
    answer_login,
    begin_login,
    get_login,
    give_up_login,
    newest_login,
)
from telegram_assistant.stores.postgres.accounts.own_logins import OwnLogins
from telegram_assistant.stores.postgres.database import Pool
from telegram_assistant.stores.postgres.stores import IngestStores, SystemStores, tenant_stores
from telegram_assistant.telegram.sealed_answers import AnswerReceiver, seal
from testkit.factories import make_tenant
from tests.conftest import Admin

SHARED, OTHER = b"the secret of the installation", b"of a process without it"
LINK = "tg://login?token=abc"


@pytest.fixture
async def tenant_id(system: SystemStores, admin: Admin) -> TenantId:
    await admin.execute("DELETE FROM login_attempts")
    return await make_tenant(system)


@pytest.fixture
def logins(pool: Pool, tenant_id: TenantId) -> OwnLogins:
    return tenant_stores(pool, tenant_id).logins


async def open_question(logins: OwnLogins, ingest: IngestStores, receiver: AnswerReceiver) -> UUID:
    """A login with its first question open."""
    attempt_id = await begin_login(LoginWay.PHONE, logins=logins, secret=SHARED)
    await ingest.logins.take("reader#1")
    await ingest.logins.ask(attempt_id, LoginState.PHONE_WANTED, public_key=receiver.public_key, error=None)
    return attempt_id


async def test_every_process_with_the_secret_shows_the_code_and_no_other(
    logins: OwnLogins, ingest: IngestStores
) -> None:
    attempt_id = await begin_login(LoginWay.QR, logins=logins, secret=SHARED)
    (claimed,) = await ingest.logins.take("reader#1")
    assert claimed.door_key is not None
    await ingest.logins.show(attempt_id, 1, seal(LINK, claimed.door_key, question=f"{attempt_id}/1/shown"))
    login = await get_login(attempt_id, logins=logins, secret=SHARED)
    assert (login.link, LINK in repr(login)) == (LINK, False)
    assert (await get_login(attempt_id, logins=logins, secret=OTHER)).link is None


async def test_an_answer_given_before_a_process_dies_is_there_afterwards(
    logins: OwnLogins, ingest: IngestStores
) -> None:
    receiver = AnswerReceiver()
    attempt_id = await open_question(logins, ingest, receiver)
    await answer_login(attempt_id, 1, "+79995550401", logins=logins)
    again = await newest_login(logins=logins, secret=OTHER)
    assert again is not None
    assert again.attempt.is_being_checked
    sealed = await ingest.logins.take_answer(attempt_id)
    assert sealed is not None
    assert receiver.open(sealed, question=f"{attempt_id}/1") == "+79995550401"


async def test_a_login_whose_process_has_died_leaves_no_account_without_a_number(
    logins: OwnLogins, ingest: IngestStores, admin: Admin, tenant_id: TenantId
) -> None:
    attempt_id = await begin_login(LoginWay.QR, logins=logins, secret=SHARED)
    await ingest.logins.take("killed#1")
    await ingest.logins.account_for_stranger(attempt_id)
    for seconds, left in ((1, 1), (61, 0)):
        await admin.execute(
            "UPDATE login_attempts SET served_until = now() - make_interval(secs => $1)", seconds
        )
        await ingest.logins.take("reader#2")
        assert (
            await admin.fetchval("SELECT count(*) FROM telegram_accounts WHERE tenant_id = $1", tenant_id)
            == left
        )
    interrupted = await newest_login(logins=logins, secret=SHARED)
    assert interrupted is not None
    assert interrupted.attempt.error == INTERRUPTED


async def test_a_question_is_answered_once(logins: OwnLogins, ingest: IngestStores) -> None:
    attempt_id = await open_question(logins, ingest, AnswerReceiver())
    with pytest.raises(Rejected):
        await answer_login(attempt_id, 1, "  ", logins=logins)
    await answer_login(attempt_id, 1, "first", logins=logins)
    with pytest.raises(Conflicting):
        await answer_login(attempt_id, 1, "second", logins=logins)
    await give_up_login(attempt_id, logins=logins)
    with pytest.raises(Conflicting):
        await answer_login(attempt_id, 1, "third", logins=logins)


async def test_the_logins_of_another_tenant_do_not_exist(
    logins: OwnLogins, ingest: IngestStores, pool: Pool, system: SystemStores
) -> None:
    attempt_id = await open_question(logins, ingest, AnswerReceiver())
    stranger = tenant_stores(pool, await make_tenant(system)).logins
    assert await newest_login(logins=stranger, secret=SHARED) is None
    for attempt in (
        get_login(attempt_id, logins=stranger, secret=SHARED),
        answer_login(attempt_id, 1, "x", logins=stranger),
    ):
        with pytest.raises(Missing):
            await attempt
    await give_up_login(attempt_id, logins=stranger)
    assert not (await get_login(attempt_id, logins=logins, secret=SHARED)).attempt.is_over


async def test_a_tenant_keeps_no_more_than_three_logins_open(logins: OwnLogins) -> None:
    begun = [await begin_login(LoginWay.PHONE, logins=logins, secret=SHARED) for _ in range(3)]
    with pytest.raises(Conflicting):
        await begin_login(LoginWay.PHONE, logins=logins, secret=SHARED)
    await give_up_login(begun[0], logins=logins)
    await begin_login(LoginWay.PHONE, logins=logins, secret=SHARED)
