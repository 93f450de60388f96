from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.posts.text import storable

ANYTHING = st.text(st.characters(codec=None, exclude_categories=()) | st.sampled_from("\x00\ud83d\udd25a🔥"))


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@given(text=ANYTHING)
def test_any_text_becomes_one_that_postgresql_takes_with_the_same_offsets(text: str) -> None:
    stored = storable(text)
    assert "\x00" not in stored
    assert stored.encode().decode() == stored
    assert units(stored) == units(text)
    assert storable(stored) == stored


def test_what_can_be_stored_stays_as_it_is() -> None:
    assert storable("Снег 🔥 \u202e\ufffd\n") == "Снег 🔥 \u202e\ufffd\n"


def test_only_what_cannot_be_stored_is_replaced() -> None:
    assert storable("\x00a\ud83d🔥\udd25\ud83d\udd25") == "\ufffda\ufffd🔥\ufffd🔥"
