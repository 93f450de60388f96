"""Sessions at rest."""

from dataclasses import replace

import pytest

from telegram_assistant.errors import CannotStart
from telegram_assistant.telegram.vault import Sealed, make_key, vault_of

SESSION = "1ApWapzMBu" + "x" * 343


def test_what_is_sealed_opens_again_and_tells_nothing() -> None:
    vault = vault_of(make_key())
    sealed = vault.seal(SESSION, account_id=7)
    assert vault.open(sealed, account_id=7) == SESSION
    assert SESSION.encode()[:10] not in sealed.content
    assert vault.seal(SESSION, account_id=7).content != sealed.content


def test_a_session_opens_for_its_own_account_only() -> None:
    vault = vault_of(make_key())
    with pytest.raises(CannotStart, match="account 8 was changed"):
        vault.open(vault.seal(SESSION, account_id=7), account_id=8)


def test_a_changed_session_does_not_open() -> None:
    vault = vault_of(make_key())
    sealed = vault.seal(SESSION, account_id=7)
    for place in (0, 20, len(sealed.content) - 1):
        changed = bytearray(sealed.content)
        changed[place] ^= 1
        with pytest.raises(CannotStart):
            vault.open(replace(sealed, content=bytes(changed)), account_id=7)


def test_a_key_is_changed_by_putting_the_new_one_in_front() -> None:
    old, new = make_key(), make_key()
    sealed = vault_of(old).seal(SESSION, account_id=7)
    both = vault_of(f"{new}, {old}")
    assert both.open(sealed, account_id=7) == SESSION
    assert both.is_outdated(sealed)
    again = both.seal(SESSION, account_id=7)
    assert not both.is_outdated(again)
    assert vault_of(new).open(again, account_id=7) == SESSION
    with pytest.raises(CannotStart, match="which is not set"):
        vault_of(new).open(sealed, account_id=7)


@pytest.mark.parametrize("text", ["", " , ", "short", "A" * 43 + "é", "QUJD"])
def test_what_is_no_key_is_told_in_words_and_not_repeated(text: str) -> None:
    with pytest.raises(CannotStart, match="tga accounts key") as refusal:
        vault_of(text)
    assert not text.strip(" ,") or text not in str(refusal.value)


def test_a_number_is_known_again_under_an_old_key_and_is_not_told() -> None:
    old, new = make_key(), make_key()
    (before,) = vault_of(old).prints("+7 999 555-01-02")
    prints = vault_of(f"{new},{old}").prints("+79995550102")
    assert prints[1] == before
    assert prints[0] == vault_of(new).prints("79995550102")[0]
    assert vault_of(old).prints("+79995550103") != [before]


def test_the_name_of_a_key_does_not_tell_it() -> None:
    key = make_key()
    assert vault_of(key).seal(SESSION, account_id=1).key_id not in key
    assert Sealed("a", b"b").key_id == "a"
