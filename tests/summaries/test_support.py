"""How many posts say a sentence in words of their own, and which posts may support it."""

from telegram_assistant.summaries.cleaning import clean_post
from telegram_assistant.summaries.summary import summarise
from telegram_assistant.summaries.support import find_supporters
from tests.summaries.test_summary import CLOSED, RETOLD, post


def test_a_line_that_others_only_repeat_is_one_wording() -> None:
    summary = summarise([post(1, CLOSED), post(2, CLOSED, wording=1), post(3, CLOSED, wording=1)])
    assert summary is not None
    assert summary.in_own_words == ()
    assert {(sentence.wordings, len(sentence.posts)) for sentence in summary.known} == {(1, 3)}


def test_two_wordings_of_different_owners_are_two_and_those_of_sisters_are_not() -> None:
    posts = [post(1, CLOSED), post(2, CLOSED, wording=1), post(3, RETOLD)]
    summary = summarise(posts)
    assert summary is not None
    assert (2, 3) in [(sentence.wordings, len(sentence.posts)) for sentence in summary.known]
    sisters = summarise([post(1, CLOSED, owner=1), post(3, RETOLD, owner=1)])
    assert sisters is not None
    assert {sentence.wordings for sentence in sisters.known} == {1}


def test_a_sentence_that_two_posts_have_nearly_word_for_word_is_one_wording() -> None:
    copied = "Движение вернут через 9 дней, если не помешает паводок."
    posts = [
        post(1, f"Мост через Охту закрыли до апреля. {copied}"),
        post(2, f"До апреля закрыт мост, который ведёт через Охту. {copied}"),
    ]
    summary = summarise(posts)
    assert summary is not None
    wordings = {sentence.text: sentence.wordings for sentence in (summary.headline, *summary.sentences)}
    assert (wordings["Мост через Охту закрыли до апреля."], wordings[copied]) == (2, 1)


def test_posts_of_the_next_night_and_of_other_names_support_no_line() -> None:
    remark = "Движение вернут через 9 дней, если не помешает паводок."
    first = post(1, f"Мост через Охту закрыли до апреля. {remark}")
    summaries = [
        summarise([first, post(2, f"{opening} {remark}", minutes=minutes)])
        for opening, minutes in (
            ("До апреля через Охту проезда по мосту нет.", 30),
            ("До апреля через Охту проезда по мосту нет.", 60 * 23),
            ("До апреля в Туманске нет переправы.", 30),
        )
    ]
    supporters = [
        len(sentence.posts)
        for summary in summaries
        if summary is not None
        for sentence in summary.sentences
        if sentence.text == remark
    ]
    assert supporters == [2, 1, 1]


def test_a_post_without_a_word_of_a_short_line_does_not_say_it() -> None:
    line = "Предварительно, огонь открыли из обреза."
    own = clean_post(post(1, f"Стрельба в центре Ольхова, полиция ищет четверых. {line} Врачи уже там."))
    other = clean_post(
        post(2, "В центре Ольхова неизвестный открыл огонь у кафе. Предварительно, один человек ранен.")
    )
    assert find_supporters(line, own, [own, other]) == (own,)
