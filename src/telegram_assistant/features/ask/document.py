"""An answer as a document, for messages."""

from datetime import tzinfo

from telegram_assistant.documents.document import Block, BlockKind, Document, Span, block
from telegram_assistant.features.ask.answers import SINCE_THEN, Answer, AnswerSentence, Outcome, Passage
from telegram_assistant.features.ask.days import write_dated
from telegram_assistant.reasons import Reason
from telegram_assistant.translation import translate


def answer_document(answer: Answer, *, language: str, zone: tzinfo) -> Document:
    """The sentences with the posts that say them, each in a line of its own; without an exact answer,
    the nearest passages.
    """
    notice = translate(answer.words, language)
    heading_blocks = (
        block(BlockKind.TITLE, answer.question),
        block(BlockKind.NOTE, f"{notice[:1].upper()}{notice[1:]}."),
    )
    if answer.outcome is not Outcome.ANSWERED:
        return (*heading_blocks, *(_passage(passage, language, zone) for passage in answer.passages))
    sentences = [_sentence(sentence, answer, language) for sentence in answer.sentences]
    if answer.newest is not None:
        since_then = translate(SINCE_THEN, language)
        sentences += (
            block(BlockKind.NOTE, f"{since_then[:1].upper()}{since_then[1:]}:"),
            _sentence(answer.newest, answer, language),
        )
    return (*heading_blocks, *sentences)


def _sentence(sentence: AnswerSentence, answer: Answer, language: str) -> Block:
    citations = [
        span
        for passage_index in sentence.passages
        for span in (Span(" "), Span("", answer.passages[passage_index].link))
    ]
    return Block(BlockKind.TEXT, (Span(write_dated(sentence, language)), *citations))


def _passage(passage: Passage, language: str, zone: tzinfo) -> Block:
    at = translate(Reason("passage_at", "{at:%-d %B, %H:%M}", at=passage.posted_at), language, zone=zone)
    return block(
        BlockKind.TEXT, f"{write_dated(passage, language)} — ", Span(passage.channel, passage.link), f", {at}"
    )
