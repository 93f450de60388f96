"""Sentences that cite posts of the demo world: supported ones, and the same with something planted that the
posts do not say.

The world's values decide what is supported, not the checker's own reading: a paraphrase is another of the
event's sentences, all of whose names and numbers stand in the cited posts.
It is long because it lists every kind of planted mistake.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from bench.workloads.demo_posts import NOW, text_of_post
from telegram_assistant.language.citations import CitedPost
from telegram_simulator.world.demo.demo import DAYS, Demo
from telegram_simulator.world.demo.packs import NAMED, Name, packs
from telegram_simulator.world.demo.plan import Kind, Planned, Role, Story
from telegram_simulator.world.demo.texts import core_of
from telegram_simulator.world.demo.wording import Values, fill_template

CITED = 3
_HOLE = re.compile(r"\{(\w+)")
_NUMBER = re.compile(r"(?<![\d:,.-])\d{1,3}(?![\d:,.]\d|\d|[:-])")
_QUOTE = re.compile(r"«([^»]{15,})»|\"([^\"]{15,})\"")
_SPEAKER = re.compile(r"([»\"],? —? ?)([^»\"]{5,60})\.$")
_SPOKEN = re.compile(r"^(?:«[^»]{15,}», —|\"[^\"]{15,},\")")
_AUXILIARY = re.compile(r"\b(is|are|was|were|will|has|have|had|can|may)\b(?! not)")
_RUSSIAN_VERB = re.compile(r"(?<!не )\b(\w{3,}(?:ли|ла|ло|ют|ут|ет|ит|ют|нут|ены|аны|ены|рыт|ден))\b")
_SMALL_RU = """
ноль один два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать тринадцать четырнадцать
пятнадцать шестнадцать семнадцать восемнадцать девятнадцать
"""
_SMALL_EN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_WORDS = {"ru": _SMALL_RU.split(), "en": _SMALL_EN.split()}
_TENS = {
    "ru": (
        "",
        "",
        "двадцать",
        "тридцать",
        "сорок",
        "пятьдесят",
        "шестьдесят",
        "семьдесят",
        "восемьдесят",
        "девяносто",
    ),
    "en": ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
}
SPEAKERS = {
    "ru": [
        "сообщили в министерстве обороны",
        "сказал депутат Арсений Глухов",
        "заявила балерина",
        "рассказали в налоговой",
        "признался таксист",
    ],
    "en": [
        "the defence ministry said",
        "said lawmaker Arseny Glukhov",
        "a ballerina claimed",
        "tax officials told reporters",
        "admitted a cab driver",
    ],
}
INVENTED_QUOTES = {
    "ru": [
        "«Такого бардака я не видел за всю свою жизнь»",
        "«Мы предупреждали об этом ещё в прошлом году»",
        "«Все виновные понесут наказание»",
    ],
    "en": [
        '"I have never seen such a mess in my whole life"',
        '"We warned about this a year ago"',
        '"All those responsible will be punished"',
    ],
}
DATES = {
    "ru": [
        " — это было {day} марта.",
        ", сообщили в прошлую среду.",
        ", речь о {day}.05.2026.",
        ", всё началось в 3:1{day}.",
        ", так решили в июле.",
    ],
    "en": [
        " — that was on {day} March.",
        ", it was reported last Wednesday.",
        ", the date is {day} May 2026.",
        ", it began at 3:1{day}.",
        ", so decided in July.",
    ],
}
TURNED = {
    "ru": [
        ("закрыли", "открыли"), ("закрыт", "открыт"), ("перекрыт", "открыт"), ("остановили", "запустили"),
        ("построят", "снесут"), ("утвердила", "отклонила"), ("одобрили", "отклонили"),
        ("подорожает", "подешевеет"), ("поднимут", "снизят"), ("повысят", "понизят"), ("открыли", "закрыли"),
        ("открывает", "закрывает"), ("отменили", "назначили"), ("отменён", "назначен"),
        ("пострадали", "погибли"), ("ранены", "погибли"), ("нашли", "потеряли"), ("нашлась", "пропала"),
        ("выросла", "упала"), ("больше", "меньше"), ("заработала", "потеряла"), ("покупает", "продаёт"),
        ("дорожает", "дешевеет"), ("живой", "мёртвой"), ("живы", "мертвы"), ("обыграла", "проиграла"),
        ("победа", "поражение"), ("вышли", "не вышли"), ("привлекла", "лишилась"), ("получила", "потеряла"),
        ("высадили", "вырубили"), ("задержаны", "отменены"), ("хорошо", "плохо"),
    ],
    "en": [
        ("closed", "opened"), ("shut", "opened"), ("stopped", "resumed"), ("approved", "rejected"),
        ("approves", "rejects"), ("raised", "lowered"), ("going up", "going down"), ("raises", "cuts"),
        ("opens", "closes"), ("cancelled", "confirmed"), ("hurt", "killed"), ("injured", "killed"),
        ("found", "lost"), ("rose", "fell"), ("grew", "shrank"), ("more", "less"), ("buys", "sells"),
        ("buy", "sell"), ("dearer", "cheaper"), ("alive", "dead"), ("beaten", "lost to"), ("beat", "lost to"),
        ("wins", "loses"), ("earned", "lost"), ("received", "lost"), ("planted", "felled"),
        ("delayed", "cancelled"), ("fallen", "risen"), ("well", "badly"), ("build", "demolish"),
        ("larger", "smaller"), ("first", "last"), ("new", "old"),
    ],
}  # fmt: skip
"""Pairs written from the world's sentences, whatever the checker knows of them."""


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence, what it cites, and what was done to it: `own`, `paraphrase`,
    or the name of what was planted.
    """

    sentence: str
    posts: tuple[CitedPost, ...]
    kind: str
    language: str


def stories_told() -> list[tuple[Story, str, list[Planned]]]:
    """The stories of the demo world by language, with the posts that tell the truth about them."""
    demo = Demo(seed=1, present=NOW, clock=lambda: NOW, days=DAYS["demo"])
    posts_by_story: dict[tuple[int, str], list[Planned]] = defaultdict(list)
    stories: dict[int, Story] = {}
    for past in demo.pasts:
        for post in past.posts[1:]:
            tells_truth = (
                post.kind is Kind.NEWS
                and post.story is not None
                and post.part == 0
                and not post.wrong
                and not post.denies
            )
            if (
                tells_truth
                and post.story is not None
                and post.edit is None
                and post.role in {Role.FIRST, Role.REWRITE, Role.TRANSLATION}
            ):
                stories[post.story.number] = post.story
                posts_by_story[post.story.number, post.channel.language].append(post)
    return [
        (stories[number], language, posts) for (number, language), posts in sorted(posts_by_story.items())
    ]


def cases(*, is_held_out: bool, most: int, seed: int = 3) -> list[Case]:
    """Of half of the event types; those of the other half are for looking at what goes wrong."""
    rng = random.Random(seed)
    names = sorted({event.name for event in packs().events})
    wanted = {name for place, name in enumerate(names) if bool(place % 2) is is_held_out}
    stories = [candidate for candidate in stories_told() if candidate[0].event.name in wanted]
    rng.shuffle(stories)
    made: list[Case] = []
    for place, (story, language, posts) in enumerate(stories[:most]):
        elsewhere = stories[(place + 7) % len(stories)]
        made += _of_story(story, language, rng.sample(posts, min(CITED, len(posts))), elsewhere, rng)
    return made


def _of_story(
    story: Story,
    language: str,
    posts: Sequence[Planned],
    elsewhere: tuple[Story, str, list[Planned]],
    rng: random.Random,
) -> Iterator[Case]:
    cited = tuple(
        CitedPost(text_of_post(post), datetime.fromtimestamp(post.date, UTC).date(), post.channel.title)
        for post in posts
    )
    texts = "\n".join(post.text for post in cited)
    base = Case("", cited, "", language)
    words = story.event.words[language]
    own = [own_sentence for post in posts for own_sentence in _single(core_of(post, 0).sentences)]
    sentence = rng.choice(own) if own else ""
    if sentence:
        yield replace(base, sentence=sentence, kind="own")
        if spelled := _spell_number(sentence, language):
            yield replace(base, sentence=spelled, kind="number_in_words")
    templates = [
        wording
        for key in ("head", "lead")
        for wording in words[key]
        if ". " not in wording and "сегодня" not in wording
    ]
    for template in templates:
        text = _finish_sentence(fill_template(template, story.values, language, rng))
        if _values_stand(template, story.values, language, texts):
            if text.rstrip(".") not in texts:
                yield replace(base, sentence=text, kind="paraphrase")
            yield from _plant_numbers(base, text, template, story, texts, rng)
    quotes = [
        sentence for post in posts for sentence in core_of(post, 0).sentences if _SPOKEN.search(sentence)
    ]
    for quoted in quotes[:1]:
        yield replace(base, sentence=quoted, kind="own")
        yield replace(
            base,
            sentence=_SPEAKER.sub(lambda match: f"{match[1]}{rng.choice(SPEAKERS[language])}.", quoted),
            kind="speaker",
        )
        yield replace(base, sentence=_other_quote(quoted, language, rng), kind="quote")
        yield replace(base, sentence=_word_changed(quoted, rng), kind="quote")
    foreign = [fact for fact in words["fact"] if "{" not in fact and fact.rstrip(".") not in texts]
    if foreign:
        yield replace(
            base,
            sentence=fill_template(rng.choice(foreign), story.values, language, rng),
            kind="foreign_claim",
        )
    other, tongue, others = elsewhere
    if tongue == language and other.event is not story.event:
        theirs = _single(core_of(others[0], 0).sentences)
        if theirs and theirs[0] not in texts:
            yield replace(base, sentence=theirs[0], kind="foreign_story")


def _plant_numbers(
    base: Case, text: str, template: str, story: Story, texts: str, rng: random.Random
) -> Iterator[Case]:
    language = base.language
    numbers = _NUMBER.findall(text)
    if numbers:
        number = rng.choice(numbers)
        new = next(
            candidate
            for candidate in iter(lambda: str(int(number) + rng.choice((-3, -2, 2, 3, 5, 10, 40))), "")
            if int(candidate) > 1 and candidate not in texts
        )
        yield replace(base, sentence=_put(text, number, new), kind="number")
        if spelled := _spell_number(_put(text, number, new), language):
            yield replace(base, sentence=spelled, kind="number")
        others = [figure for figure in _NUMBER.findall(texts) if figure not in text and int(figure) > 1]
        if others and len(set(numbers)) == 1:
            yield replace(
                base, sentence=_put(text, number, rng.choice(others)), kind="number_of_another_noun"
            )
    if len(set(numbers)) > 1:
        first, second = list(dict.fromkeys(numbers))[:2]
        yield replace(
            base,
            sentence=_put(_put(_put(text, first, "@@"), second, first), "@@", second),
            kind="numbers_swapped",
        )
    yield from _rename_things(base, template, story, texts, rng)
    yield replace(
        base,
        sentence=text.rstrip(".") + rng.choice(DATES[language]).format(day=rng.choice((4, 5, 6))),
        kind="date",
    )
    if denied := _deny(text, language):
        yield replace(base, sentence=denied, kind="negation")
    turned = [(phrase, other) for phrase, other in TURNED[language] if re.search(rf"\b{phrase}\b", text)]
    if turned:
        word, other = rng.choice(turned)
        yield replace(base, sentence=re.sub(rf"\b{word}\b", other, text, count=1), kind="antonym")


def _rename_things(base: Case, template: str, story: Story, texts: str, rng: random.Random) -> Iterator[Case]:
    """Another name, another thing, or two names the other way round."""
    language = base.language
    slots = [
        slot
        for slot in _HOLE.findall(template)
        if isinstance(story.values[slot], Name) and _is_entity(story, slot)
    ]
    slots = list(dict.fromkeys(slots))
    if slots:
        slot = rng.choice(slots)
        old = story.values[slot]
        choices = [
            name
            for name in story.event.slots[slot]
            if isinstance(name, Name) and name is not old and _first_form(name, language) not in texts
        ]
        if choices:
            changed = {**story.values, slot: rng.choice(choices)}
            yield replace(
                base,
                sentence=_finish_sentence(fill_template(template, changed, language, random.Random(1))),
                kind="name",
            )
    things = [
        slot
        for slot in _HOLE.findall(template)
        if isinstance(story.values[slot], Name) and not _is_entity(story, slot)
    ]
    if things:
        slot = rng.choice(things)
        choices = [
            name
            for name in story.event.slots[slot]
            if isinstance(name, Name) and name is not story.values[slot]
        ]
        changed = {**story.values, slot: rng.choice(choices)}
        yield replace(
            base,
            sentence=_finish_sentence(fill_template(template, changed, language, random.Random(1))),
            kind="another_thing",
        )
    same = [
        slot
        for slot in slots
        if sum(story.event.slots[slot] == story.event.slots[rival] for rival in slots) > 1
    ]
    if len(same) > 1:
        first, other = same[:2]
        swapped = {**story.values, first: story.values[other], other: story.values[first]}
        yield replace(
            base,
            sentence=_finish_sentence(fill_template(template, swapped, language, random.Random(1))),
            kind="roles",
        )


def _single(sentences: Sequence[str]) -> list[str]:
    return [sentence for sentence in sentences if not re.search(r"[.!?] [A-ZА-Я«\"0-9]", sentence)]


def _finish_sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _values_stand(template: str, values: Values, language: str, texts: str) -> bool:
    return all(_stands(values[slot], language, texts) for slot in _HOLE.findall(template))


def _stands(value: Name | float, language: str, texts: str) -> bool:
    if isinstance(value, Name):
        forms = value.ru if language == "ru" else value.en
        return any(form in texts for key, form in forms.items() if key != "sex")
    digits = str(value).removesuffix(".0").replace(".", "," if language == "ru" else ".")
    return re.search(rf"(?<![\d,.:]){re.escape(digits)}(?![\d,.:]\d|\d)", texts) is not None


def _is_entity(story: Story, slot: str) -> bool:
    value = story.values[slot]
    return isinstance(value, Name) and value.kind in NAMED


def _first_form(name: Name, language: str) -> str:
    return next(iter((name.ru if language == "ru" else name.en).values()))


def _put(text: str, number: str, other: str) -> str:
    return re.sub(rf"(?<![\d:,.]){number}(?![\d:,.]\d|\d|:)", other, text, count=1)


def _spell_number(text: str, language: str) -> str | None:
    """With a number in words; None if there is none below a hundred that counts something."""
    match = re.search(
        r"(?<![\d:,.] )(?<![\d:,.-])\b(\d{1,2})(?= [^\W\d_]{3,})(?! (?:м/|m/|sq|км|км/|млн|млрд|billion|"
        r"million|percent))",
        text,
    )
    if match is None or match.start() == 0 or int(match[1]) < 2:
        return None
    return text[: match.start()] + number_in_words(int(match[1]), language) + text[match.end() :]


def number_in_words(number: int, language: str) -> str:
    if number < len(_WORDS[language]):
        return _WORDS[language][number]
    ten, unit = divmod(number, 10)
    return _TENS[language][ten] + (
        ("-" if language == "en" else " ") + _WORDS[language][unit] if unit else ""
    )


def _other_quote(quoted: str, language: str, rng: random.Random) -> str:
    return _QUOTE.sub(lambda _: rng.choice(INVENTED_QUOTES[language]), quoted, count=1)


def _word_changed(quoted: str, rng: random.Random) -> str:
    """One word inside the quotation is another one."""
    match = _QUOTE.search(quoted)
    assert match is not None
    inside = match.group()
    words = re.findall(r"[^\W\d_]{4,}", inside)
    word = rng.choice(words)
    return quoted.replace(
        inside, re.sub(rf"\b{word}\b", "кабинет" if re.search("[а-я]", word) else "cabinet", inside, count=1)
    )


def _deny(text: str, language: str) -> str | None:
    if " не " in text or " not " in text:
        return None
    changed = (
        _AUXILIARY.sub(r"\1 not", text, count=1)
        if language == "en"
        else _RUSSIAN_VERB.sub(r"не \1", text, count=1)
    )
    return changed if changed != text else None
