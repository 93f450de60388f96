"""A careless model: it repeats sentences of the given passages, three in ten with something invented.

It never says that it does not know.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from telegram_assistant.language.sentences import split_sentences
from testkit.provider_server import ChatRequest

INVENTED_SHARE = 0.3
MAX_SENTENCES = 4
MIN_LETTERS = 20
_PASSAGE = re.compile(r"^\[(\d+)\] [^\n]*\n(.*?)(?=\n\n\[\d+\] |\n=====)", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"\d+")
_RUSSIAN = re.compile(r"[а-яё]", re.IGNORECASE)


def _number(sentence: str, _is_russian: bool) -> str:
    changed = _NUMBER.sub(lambda match: str(int(match.group()) * 3 + 7), sentence, count=1)
    return (
        changed
        if changed != sentence
        else sentence.rstrip(".") + (", всего 777 человек." if _is_russian else ", 777 people in all.")
    )


def _name(sentence: str, is_russian: bool) -> str:
    return sentence.rstrip(".") + (
        ", а также Арсений Глухов." if is_russian else ", and so does Arseny Glukhov."
    )


def _date(sentence: str, is_russian: bool) -> str:
    return sentence.rstrip(".") + (", это было 3 марта." if is_russian else ", that was on 3 March.")


def _quote(sentence: str, is_russian: bool) -> str:
    more = (
        " «Такого бардака я не видел за всю свою жизнь»."
        if is_russian
        else ' "I have never seen such a mess in my whole life".'
    )
    return sentence.rstrip(".") + ":" + more


def _speaker(sentence: str, is_russian: bool) -> str:
    return sentence.rstrip(".") + (
        ", сообщили в министерстве обороны." if is_russian else ", the defence ministry said."
    )


def _link(sentence: str, is_russian: bool) -> str:
    return sentence.rstrip(".") + (
        ", подробности на t.me/invented." if is_russian else ", more at t.me/invented."
    )


INVENTIONS: tuple[Callable[[str, bool], str], ...] = (_number, _name, _date, _quote, _speaker, _link)


@dataclass
class InventingModel:
    """Give its method `answer` to a FakeServer.

    `planted` are the sentences with inventions, as it wrote them.
    """

    seed: int = 1
    planted: set[str] = field(default_factory=set)
    written: int = 0

    def answer(self, question: ChatRequest) -> str:
        rng = random.Random(f"{self.seed}{question.user.partition('PASSAGES')[2][:2000]}")
        lines = []
        for number, text in _PASSAGE.findall(question.user)[:MAX_SENTENCES]:
            sentences = [sentence for sentence in split_sentences(text) if len(sentence) >= MIN_LETTERS]
            if not sentences:
                continue
            sentence = rng.choice(sentences[:2])
            if rng.random() < INVENTED_SHARE:
                sentence = rng.choice(INVENTIONS)(sentence, bool(_RUSSIAN.search(sentence)))
                self.planted.add(sentence)
            self.written += 1
            lines.append(f"{sentence} [{number}]")
        return "\n".join(lines)
