"""Words that say that the state of something changed: Russian dictionary forms, and forms of English verbs.

Only finite verbs and participles count; «возобновление» and «возобновить» announce nothing.
"""

from functools import lru_cache

from telegram_assistant.language.lemmas import MAX_WORD_CHARACTERS
from telegram_assistant.language.parsed_text import ParsedText, fold
from telegram_assistant.language.russian import analyser

_RUSSIAN_WORDS = """
потушить погасить ликвидировать
локализовать
устранить починить отремонтировать
возобновить возобновиться восстановить восстановиться заработать запустить открыть открыться
закрыть закрыться приостановить прекратить прекратиться остановить
отменить отменять отозвать отложить перенести снять
освободить отпустить выпустить
задержать арестовать
приговорить осудить
оправдать
оштрафовать
обвинить
скончаться умереть погибнуть
найти обнаружить обнаружиться разыскать спасти
эвакуировать
опровергнуть
уточнить исправить
возрасти вырасти увеличиться
расширить расширять продлить
сократиться упасть подешеветь снизиться
вернуть вернуться
одобрить утвердить подписать ратифицировать принять проголосовать
отклонить отвергнуть запретить
разрешить
уволить уволиться отстранить
назначить избрать
завершить завершиться закончить закончиться окончиться
извиниться
признать признаться
сорваться отказаться передумать
договориться
сдаться капитулировать
захватить
победить выиграть
проиграть
"""
_ENGLISH_WORDS = """
extinguished doused
contained
repaired fixed
reopened resumed restored reinstated opened
closed suspended halted stopped
cancelled canceled withdrawn withdrew postponed lifted
freed released
detained arrested
charged
sentenced convicted
acquitted
fined
died dead killed
located found rescued
evacuated
denied refuted
corrected clarified
rose risen grew grown
expanded widened extended prolonged
fell fallen dropped
returned
approved ratified adopted voted
rejected banned overturned reversed
resigned dismissed fired
appointed elected
ended completed finished
apologised apologized
collapsed
agreed
surrendered
"""
"""Words of one line say the same change."""
_PHRASES = (
    "put out", "is out", "back to normal", "called off", "fell through", "fallen through", "fell back",
    "no longer", "is over", "are over", "больше не", "on again", "back on", "after all", "всё-таки", "всё же",
)  # fmt: skip
"""Changes that English tells with an adverb; of both languages, that something has ceased, or takes place
although it was called off.
"""
_FINITE = frozenset({"VERB", "PRTS", "PRTF"})


def _by_word(lines: str) -> dict[str, str]:
    return {word: words[0] for line in lines.split("\n") if (words := line.split()) for word in words}


_CHANGES = _by_word(_RUSSIAN_WORDS) | _by_word(_ENGLISH_WORDS)


def change_words_in(sentence: ParsedText) -> frozenset[str]:
    """The changes that the words and phrases of a sentence tell, each by its first word in the list."""
    words = {change for word in sentence.words if (change := _change_of(word.folded))}
    text = f" {' '.join(word.folded for word in sentence.words)} "
    return frozenset(words | {phrase for phrase in _PHRASES if f" {fold(phrase)} " in text})


@lru_cache(maxsize=20_000)
def _change_of(word: str) -> str:
    if word.isascii():
        return _CHANGES.get(word, "")
    words = analyser()
    if words is None or len(word) > MAX_WORD_CHARACTERS:
        return ""
    return next(
        (
            change
            for reading in words.parse(word)
            if reading.tag.POS in _FINITE and (change := _CHANGES.get(fold(reading.normal_form), ""))
        ),
        "",
    )
