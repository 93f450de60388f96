"""The days of a question and of an answer: as sentences, and beside the words of posts that mean them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from telegram_assistant.features.ask.answers import Answer, AnswerSentence, DatedWord, Outcome, Passage
from telegram_assistant.language.dates import relative_days_in
from telegram_assistant.language.questions.periods import Period
from telegram_assistant.reasons import Reason
from telegram_assistant.translation import translate


def bounds_of(period: Period, zone: tzinfo) -> tuple[datetime, datetime]:
    """The first moment of the days, and the first one behind them."""
    return (
        datetime.combine(period.since, time(), tzinfo=zone),
        datetime.combine(period.until + timedelta(days=1), time(), tzinfo=zone),
    )


def days_reason(period: Period, zone: tzinfo) -> Reason:
    """“on 3 November”, “from 3 November to 5 November”."""
    since, until = (datetime.combine(day, time(12), tzinfo=zone) for day in (period.since, period.until))
    if period.since == period.until:
        return Reason("ask_on_day", "on {day:%-d %B}", day=since)
    return Reason("ask_in_period", "from {since:%-d %B} to {until:%-d %B}", since=since, until=until)


def tell_days(answer: Answer, period: Period, zone: tzinfo, *, has_posts: bool) -> Answer:
    """The answer, which says of which days it is if nothing answers the question."""
    days_text = days_reason(period, zone)
    if answer.outcome is Outcome.ANSWERED:
        return answer
    if not has_posts:
        notice = Reason("ask_no_posts", "your channels have no posts {when}", when=days_text)
    elif answer.outcome is Outcome.NEAREST:
        notice = Reason(
            "ask_nearest_then",
            "your channels have no exact answer {when}; these passages are the closest",
            when=days_text,
        )
    else:
        notice = Reason(
            "ask_nothing_then",
            "your channels report nothing about this {when}; ask without the day to search all posts",
            when=days_text,
        )
    return replace(answer, notice=notice)


def date_quotations(answer: Answer, today: date, zone: tzinfo) -> Answer:
    """The answer with the days of words such as «сегодня» in posts of earlier days."""
    passages = tuple(
        replace(passage, dated_words=_find_dated_words(passage.text, [passage], today, zone))
        for passage in answer.passages
    )

    def date_sentence(sentence: AnswerSentence) -> AnswerSentence:
        cited_passages = [passages[passage_index] for passage_index in sentence.passages]
        return replace(sentence, dated_words=_find_dated_words(sentence.text, cited_passages, today, zone))

    return replace(
        answer,
        passages=passages,
        sentences=tuple(map(date_sentence, answer.sentences)),
        newest=None if answer.newest is None else date_sentence(answer.newest),
    )


def write_dated(quotation: AnswerSentence | Passage, language: str) -> str:
    """The text with the days in brackets: «сегодня [3 ноября]»."""
    pieces, end = [], 0
    for word in quotation.dated_words:
        day = datetime.combine(word.day, time(12), tzinfo=UTC)
        reason = (
            Reason("dated_word_with_year", "{day:%-d %B %Y}", day=day)
            if word.is_other_year
            else Reason("dated_word", "{day:%-d %B}", day=day)
        )
        pieces.append(f"{quotation.text[end : word.end]} [{translate(reason, language, zone=UTC)}]")
        end = word.end
    return "".join((*pieces, quotation.text[end:]))


def _find_dated_words(
    text: str, cited_passages: Sequence[Passage], today: date, zone: tzinfo
) -> tuple[DatedWord, ...]:
    """None where the cited posts are of several days, or of today."""
    days = {passage.posted_at.astimezone(zone).date() for passage in cited_passages}
    if len(days) != 1 or today in days:
        return ()
    return tuple(
        DatedWord(word.start, word.end, word.day, is_other_year=word.day.year != today.year)
        for word in relative_days_in(text, days.pop())
    )
