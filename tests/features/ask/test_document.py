"""An answer as a message."""

from datetime import UTC

from telegram_assistant.documents.writing import write_plain
from telegram_assistant.features.ask.document import answer_document
from tests.features.ask.test_ask import CLOSED, OTHERS, answer_texts


def test_an_answer_reads_well_as_a_message() -> None:
    exact = write_plain(answer_document(answer_texts(CLOSED, OTHERS), language="ru", zone=UTC))
    assert "из-за трещины. [1]\n" in exact
    assert f"\n{OTHERS} [2]\n" in exact
    near = write_plain(
        answer_document(answer_texts("Каменный мост в Солнцеборе закрыли"), language="en", zone=UTC)
    )
    assert "Каменный мост в Солнцеборе закрыли — Channel 1 (https://t.me/c/1/1), 15 November, 12:01" in near
