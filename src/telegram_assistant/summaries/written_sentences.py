"""Sentences that a model has written about numbered posts, checked against the posts that each of them cites.

    kept = WrittenText(posts)
    for piece in pieces:
        for sentence in kept.hear(piece):
            print(sentence.text, sentence.posts)
    kept.end()

The model writes a sentence on each line, with the numbers of the posts behind it: `The bridge is closed for
16 days. [2] [3]`. A sentence without such a number, or with something that the posts do not say, is left out;
one that is doubtful is replaced by the sentence of its post.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from telegram_assistant.domain.understanding.sentence_checks import LeftOut, SentenceChecks
from telegram_assistant.language.citations import CitedPost, Verdict, check_sentence
from telegram_assistant.language.sentences import split_sentences

MAX_SENTENCES = 8
NOTHING = "NOTHING"
"""The model's text if the posts do not answer."""
_CITED = re.compile(r"(?:\s*\[\d{1,3}(?:[,;\s]+\d{1,3})*\])+")
_NUMBER = re.compile(r"\d+")
_MARKS = re.compile(r"^\s*(?:[-*•–—>#]+\s+|\d{1,2}[.)]\s+)+|\*\*|__|`")
_LEFT_OUT = {
    "citation_link": LeftOut.LINK,
    "citation_range": LeftOut.NUMBER,
    "citation_number": LeftOut.NUMBER,
    "citation_number_noun": LeftOut.NUMBER,
    "citation_name": LeftOut.NAME,
    "citation_date": LeftOut.DATE,
    "citation_quote": LeftOut.QUOTE,
    "citation_speaker": LeftOut.SPEAKER,
    "citation_language": LeftOut.LANGUAGE,
}


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """A sentence that may be shown, and the places of the posts that support it."""

    text: str
    posts: tuple[int, ...]


class WrittenText:
    """The text of a model while it arrives, and what of it may be shown."""

    def __init__(self, posts: Sequence[CitedPost]) -> None:
        self._posts = posts
        self._line = ""
        self._heard = 0
        self._left_out: list[LeftOut] = []
        self._replaced = 0
        self.sentences: list[WrittenSentence] = []
        self.says_nothing = False

    @property
    def checks(self) -> SentenceChecks:
        return SentenceChecks(tuple(self._left_out), self._replaced)

    def hear(self, piece: str) -> Iterator[WrittenSentence]:
        """Takes the next piece; returns the sentences that are complete with it and may be shown."""
        self._heard += len(piece)
        *lines, self._line = (self._line + piece).split("\n")
        for line in lines:
            yield from self._read(line)

    def end(self, whole: str = "") -> Iterator[WrittenSentence]:
        """The rest: the last line, and what of the whole text has not been heard."""
        yield from self.hear(whole[self._heard :])
        line, self._line = self._line, ""
        yield from self._read(line)

    def _read(self, line: str) -> Iterator[WrittenSentence]:
        if line.strip(" .*\"'`") == NOTHING:
            self.says_nothing = True
            return
        for text, cited in cited_sentences(line):
            if len(self.sentences) < MAX_SENTENCES and (sentence := self._check(text, cited)) is not None:
                self.sentences.append(sentence)
                yield sentence

    def _check(self, text: str, cited: Sequence[int]) -> WrittenSentence | None:
        places = [number - 1 for number in cited if 0 < number <= len(self._posts)]
        if not places:
            self._left_out.append(LeftOut.UNCITED)
            return None
        checked = check_sentence(text, [self._posts[place] for place in places])
        if checked.verdict is Verdict.DROPPED:
            self._left_out.append(_LEFT_OUT.get(checked.reason.code if checked.reason else "", LeftOut.WORDS))
            return None
        if any(sentence.text == checked.text for sentence in self.sentences):
            return None
        self._replaced += checked.verdict is Verdict.REPLACED
        return WrittenSentence(
            checked.text, tuple(places[source] for source in checked.sources) or (places[0],)
        )


def cited_sentences(line: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The sentences of a line, each with the numbers behind it; several before one number share it.

    The rest of the line has none.
    """
    at = 0
    for match in _CITED.finditer(line):
        text, at = line[at : match.start()], match.end()
        numbers = tuple(dict.fromkeys(int(number) for number in _NUMBER.findall(match.group())))
        if at < len(line) and line[at] in ".!?…":
            text, at = text + line[at], at + 1
        yield from ((sentence, numbers) for sentence in _sentences(text))
    yield from ((sentence, ()) for sentence in _sentences(line[at:]))


def _sentences(text: str) -> list[str]:
    return [
        stripped
        for sentence in split_sentences(_MARKS.sub("", text))
        if any(map(str.isalpha, stripped := sentence.strip()))
    ]
