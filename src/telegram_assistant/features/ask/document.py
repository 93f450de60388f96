"""An answer as a document, for messages."""

from datetime import tzinfo

from telegram_assistant.documents.document import Block, BlockKind, Document, Span, block
from telegram_assistant.features.ask.answers import Answer, AnswerSentence, Outcome, Passage
from telegram_assistant.reasons import Reason
from telegram_assistant.translation import say


def answer_document(answer: Answer, *, language: str, zone: tzinfo) -> Document:
    """The sentences with the posts that say them, each in a line of its own; without an exact answer,
    the nearest passages.
    """
    notice = say(answer.words, language)
    head = (
        block(BlockKind.TITLE, answer.question),
        block(BlockKind.NOTE, f"{notice[:1].upper()}{notice[1:]}."),
    )
    if answer.outcome is not Outcome.ANSWERED:
        return (*head, *(_passage(passage, language, zone) for passage in answer.passages))
    return (*head, *(_sentence(sentence, answer) for sentence in answer.sentences))


def _sentence(sentence: AnswerSentence, answer: Answer) -> Block:
    cited = [
        span for place in sentence.passages for span in (Span(" "), Span("", answer.passages[place].link))
    ]
    return Block(BlockKind.TEXT, (Span(sentence.text), *cited))


def _passage(passage: Passage, language: str, zone: tzinfo) -> Block:
    at = say(Reason("passage_at", "{at:%-d %B, %H:%M}", at=passage.posted_at), language, zone=zone)
    return block(BlockKind.TEXT, f"{passage.text} — ", Span(passage.channel, passage.link), f", {at}")
