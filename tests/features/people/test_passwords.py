"""The queues for hashing passwords: they are short, and logins always have a place."""

import asyncio

import pytest

from telegram_assistant.errors import Busy
from telegram_assistant.features.people.passwords import MAX_QUEUED, PasswordQueue, Passwords

PASSWORD = "correct horse battery"


async def test_a_place_is_always_left_for_logins() -> None:
    passwords, ended = Passwords(), list[str]()

    async def change(number: int) -> None:
        await passwords.create_verifier(PASSWORD)
        ended.append(f"change {number}")

    async def log_in() -> None:
        await passwords.prove(PASSWORD, None, queue=PasswordQueue.LOGIN)
        ended.append("login")

    changes = [asyncio.create_task(change(number)) for number in range(MAX_QUEUED[PasswordQueue.CHANGE])]
    await asyncio.sleep(0)
    await asyncio.gather(log_in(), *changes)
    assert ended.index("login") <= 1


@pytest.mark.parametrize("queue", list(PasswordQueue))
async def test_a_long_queue_refuses_at_once_and_the_others_go_on(queue: PasswordQueue) -> None:
    passwords = Passwords()
    waiting = [
        asyncio.create_task(passwords.prove(PASSWORD, None, queue=queue)) for _ in range(MAX_QUEUED[queue])
    ]
    await asyncio.sleep(0)
    with pytest.raises(Busy) as refused:
        await passwords.prove(PASSWORD, None, queue=queue)
    assert refused.value.retry_after_seconds > 0
    assert not any(task.done() for task in waiting)
    for other in set(PasswordQueue) - {queue}:
        await passwords.prove(PASSWORD, None, queue=other)
    await asyncio.gather(*waiting)
    await passwords.prove(PASSWORD, None, queue=queue)


async def test_a_request_that_nobody_waits_for_any_more_leaves_its_queue() -> None:
    passwords = Passwords()
    waiting = [
        asyncio.create_task(passwords.prove(PASSWORD, None, queue=PasswordQueue.CHANGE))
        for _ in range(MAX_QUEUED[PasswordQueue.CHANGE])
    ]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert await passwords.prove(PASSWORD, None, queue=PasswordQueue.CHANGE)


async def test_the_same_password_gives_the_same_hash_with_its_parameters_only() -> None:
    passwords = Passwords()
    first, second = await passwords.create_verifier(PASSWORD), await passwords.create_verifier(PASSWORD)
    assert first.parameters != second.parameters
    proof = await passwords.prove(PASSWORD, first.parameters, queue=PasswordQueue.LOGIN)
    assert proof == await passwords.prove(PASSWORD, first.parameters, queue=PasswordQueue.LOGIN)
    assert proof != await passwords.prove(PASSWORD, second.parameters, queue=PasswordQueue.LOGIN)
    assert first.digest.hex() not in repr(first)
