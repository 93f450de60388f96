"""The profile of a logged-in account, logging out, and sealed answers."""

import pytest

from telegram_assistant.domain.accounts.account import AccountRefused
from telegram_assistant.errors import Rejected
from telegram_assistant.telegram.login import AccountProfile, log_out, whoami
from telegram_assistant.telegram.sealed_answers import AnswerReceiver, seal
from telegram_simulator.simulator import Simulator
from tests.simulator.conftest import PHONE
from tests.telegram.conftest import Lines


async def test_a_line_knows_whose_it_is_until_it_is_logged_out(lines: Lines, sim: Simulator) -> None:
    async with lines() as line:
        assert await whoami(line) == AccountProfile(sim.world.account(PHONE).user_id, PHONE, is_premium=False)
        await log_out(line)
    assert list(sim.keys.records_of(PHONE)) == []
    async with lines() as line:
        await log_out(line)  # a session that has ended is no mistake
        with pytest.raises(AccountRefused):
            await whoami(line)


def test_an_answer_opens_for_who_asked_and_for_that_question_only() -> None:
    asker, other = AnswerReceiver(), AnswerReceiver()
    sealed = seal("12345", asker.public_key, question="login/1")
    assert b"12345" not in sealed
    assert asker.open(sealed, question="login/1") == "12345"
    assert seal("12345", asker.public_key, question="login/1") != sealed
    for who, question, given in (
        (other, "login/1", sealed),
        (asker, "login/2", sealed),
        (asker, "login/1", sealed[:-1]),
        (asker, "login/1", b""),
    ):
        with pytest.raises(Rejected, match="not sealed for this question"):
            who.open(given, question=question)
