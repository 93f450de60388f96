"""Open corrections, and denials of what others wrote."""

from telegram_assistant.summaries.denials import corrects_openly, denial_in, is_denied_by

CLAIM = "В Ветрограде закрыли Вантовый мост через Белую: на опоре нашли трещину."
DENIAL = "Мэрия Ветрограда опровергла сообщения о трещине на опоре Вантового моста через Белую."


def test_a_denial_is_about_the_post_that_made_the_claim() -> None:
    assert denial_in(f"{DENIAL} Мост открыт.") == DENIAL
    assert is_denied_by(CLAIM, DENIAL)
    assert is_denied_by(
        "The Orchard Bridge in Northwick will close for a year, say builders.",
        "The mayor denied reports that the Orchard Bridge in Northwick will close for a year.",
    )


def test_a_claim_may_stand_before_the_word_of_denial() -> None:
    assert is_denied_by(CLAIM, "Сообщения о трещине на опоре Вантового моста через Белую опровергли в мэрии.")


def test_whoever_quotes_the_denier_is_not_denied() -> None:
    assert not is_denied_by("Мэрия: Вантовый мост через Белую открыт, трещины на опоре нет.", DENIAL)
    assert not is_denied_by(f"Слухи о трещине опровергли. {CLAIM}", DENIAL)


def test_words_for_reports_and_another_event_are_no_claim() -> None:
    assert not is_denied_by("В Ветрограде закрыли рынок у Вантового моста, сообщения СМИ.", DENIAL)
    assert denial_in("Мост закрыли. Мэрия опровергла слухи.") is None


def test_a_correction_says_so() -> None:
    assert corrects_openly("Пожар потушен.\nУточнение: горели два склада, а не три.")
    assert not corrects_openly("В городе исправляют ошибки застройщика.")
