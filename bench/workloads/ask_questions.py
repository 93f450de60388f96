"""Questions about the demo world's stories, and others that its posts cannot answer."""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from telegram_simulator.world.demo.packs import NAMED, Name
from telegram_simulator.world.demo.plan import Planned, Story
from telegram_simulator.world.demo.wording import fill_template

TEMPLATES = {
    "bridge_closed": (
        "На сколько дней закрыли {bridge} в {city.loc}?",
        "How long will {bridge} in {city} be closed?",
    ),
    "tram_line": (
        "Сколько стоит новая трамвайная линия в {city.loc}?",
        "How much will the new tram line in {city} cost?",
    ),
    "water_outage": (
        "Сколько домов осталось без воды в {city.loc}?",
        "How many houses in {city} are without water?",
    ),
    "fare_rise": ("Сколько будет стоить проезд в {city.loc}?", "How much will a ride in {city} cost?"),
    "park_opening": ("Какой парк открыли в {city.loc}?", "How many hectares has the new park in {city}?"),
    "exhibition": ("Какую выставку открывает {museum}?", "What exhibition does the {museum} open?"),
    "film_prize": ("Какой приз получил фильм {film}?", "What prize did {film} win?"),
    "painting_returned": (
        "Где в {city.loc} нашли пропавшую картину?",
        "Where in {city} was the missing painting found?",
    ),
    "concert_off": ("Почему отменили концерт в {city.loc}?", "Why was the concert in {city} cancelled?"),
    "warehouse_fire": (
        "Сколько человек пострадали на пожаре на складе в {city.loc}?",
        "How many people were hurt in the warehouse fire in {city}?",
    ),
    "gas_evacuation": (
        "Сколько человек в {city.loc} эвакуировали из-за газа?",
        "How many people in {city} were evacuated because of gas?",
    ),
    "road_crash": (
        "Сколько машин столкнулись на трассе у {city.gen}?",
        "How many cars collided on the highway near {city}?",
    ),
    "storm": ("Какой ветер принёс шторм в {city}?", "How strong were the gusts of the storm in {city}?"),
    "hikers_found": (
        "Нашли ли туристов, пропавших у {city.gen}?",
        "Were the hikers missing near {city} found?",
    ),
    "earnings": (
        "Какую прибыль получила компания {firm} за квартал?",
        "What profit did {firm} make in the quarter?",
    ),
    "merger": (
        "За сколько компания {buyer} покупает компанию {target}?",
        "What does {buyer} pay to buy {target}?",
    ),
    "recall": ("Почему компания {firm} отзывает товар?", "Why does {firm} recall a product?"),
    "ship_drift": ("Сколько часов дрейфует судно {ship}?", "How many hours has the {ship} been adrift?"),
    "satellite": ("Что строят у {city.gen}, если верить снимкам?", "What do images show near {city}?"),
    "drone_airport": (
        "Сколько рейсов задержали в {city.loc} из-за дрона?",
        "How many flights were delayed in {city} by a drone?",
    ),
    "leaked_document": (
        "О чём документ мэрии {city.gen}, попавший в сеть?",
        "What is in the paper of {city} city hall that surfaced online?",
    ),
    "exoplanet": ("Какую планету нашли в {institute.loc}?", "What planet did {institute} find?"),
    "ancient_find": ("Что нашли археологи у {city.gen}?", "What did archaeologists find near {city}?"),
    "trial": ("Чем закончились испытания в {institute.loc}?", "What did the trial at {institute} show?"),
    "species": (
        "Какой вид нашла экспедиция {institute.gen}?",
        "What species did the expedition of {institute} find?",
    ),
    "match": (
        "С каким счётом команда {home} обыграла команду {away}?",
        "By what score did {home} beat {away}?",
    ),
    "transfer": ("В какую команду переходит {person}?", "Which club does {person} move to?"),
    "marathon": ("Кто победил на марафоне в {city.loc}?", "Who won the marathon in {city}?"),
    "stadium": (
        "Сколько мест будет на новом стадионе в {city.loc}?",
        "How many seats will the stadium in {city} have?",
    ),
    "data_leak": (
        "Сколько записей сервиса {tech} попало в сеть?",
        "How many records of {tech} were exposed?",
    ),
    "service_outage": ("Сколько часов не работает сервис {tech}?", "How long has {tech} been unavailable?"),
    "funding": ("Сколько миллионов привлекла компания {tech}?", "How many millions did {tech} raise?"),
    "gadget": (
        "Сколько долларов стоит новинка компании {tech}?",
        "How many dollars does the gadget of {tech} cost?",
    ),
    "vulnerability": (
        "Какую уязвимость нашли в продуктах компании {tech}?",
        "What vulnerability was found in {tech} products?",
    ),
}
SWAPPED = {
    "match": (
        "С каким счётом команда {away} обыграла команду {home}?",
        "By what score did {away} beat {home}?",
    ),
    "merger": (
        "За сколько компания {target} покупает компанию {buyer}?",
        "What does {target} pay to buy {buyer}?",
    ),
}
"""Questions about the right event with its two names swapped."""
WRONG_VERBS = (
    ("Кто ограбил банк в {city.loc}?", "Who robbed the bank in {city}?"),
    ("Когда в {city.loc} отменили карантин?", "When was the quarantine in {city} lifted?"),
    ("Почему в {city.loc} бастуют врачи?", "Why do doctors in {city} strike?"),
    ("Кто возглавил полицию в {city.loc}?", "Who heads the police in {city}?"),
    ("Подорожал ли хлеб в {city.loc}?", "Did bread in {city} become more expensive?"),
    ("Сколько школ построили в {city.loc}?", "How many schools were built in {city}?"),
)
"""Questions about things that no event of the world does."""
MONTHS = {
    "ru": [
        "января",
        "февраля",
        "марта",
        "апреля",
        "мая",
        "июня",
        "июля",
        "августа",
        "сентября",
        "октября",
        "ноября",
        "декабря",
    ],
    "en": [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
}
WEEKDAYS = {
    "ru": ("в понедельник", "во вторник", "в среду", "в четверг", "в пятницу", "в субботу", "в воскресенье"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
DAYS_BETWEEN = 9
"""A twin is so much older than its story."""
INVENTED = {
    "ru": (
        "Тарнобург",
        "Кислогорье",
        "Эверлин",
        "Заболотск",
        "«Гринвальд Прайм»",
        "«Осколок-9»",
        "Феодор Бальмин",
        "Ксения Вортова",
    ),
    "en": (
        "Tarnoburg",
        "Kislogorye",
        "Everlin",
        "Zabolotsk",
        "Greenwald Prime",
        "Oskolok-9",
        "Theodore Balmin",
        "Xenia Vortova",
    ),
}
OFF_TOPIC = {
    "ru": (
        "Как сварить борщ со свёклой и фасолью?", "Какая столица у Австралии?",
        "Чем кормить хомяка зимой?", "Как настроить гитару дома?",
        "В каком году родился Пушкин?", "Сколько калорий в банане и яблоке?", "Как вывести пятно от вина?", (
            "Какая высота у Эвереста?"
        ),
        "Кто написал «Войну и мир»?", "Как завязать галстук двойным узлом?", "Почему небо голубое днём?",
        "Чем отличается торнадо от смерча в Канзасе?",
    ),
    "en": (
        "How do I cook borscht with beans?", "What is the capital of Australia?",
        "What do hamsters eat in winter?", "How do I tune a guitar at home?",
        "In which year was Shakespeare born?", "How many calories are in a banana?",
        "How do I remove a wine stain?", "How high is Mount Everest?",
        "Who wrote War and Peace?", "How do I tie a Windsor knot?", "Why is the sky blue by day?",
        "What is the boiling point of ethanol?",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """A question; `story` is None if no post answers it. `kind` says how it was made."""

    text: str
    language: str
    kind: str
    story: Story | None = None
    day: date | None = None
    """The day that a dated question is about."""


def day_of(post: Planned) -> date:
    return datetime.fromtimestamp(post.date, UTC).date()


def dated_questions(
    posts: Sequence[Planned], count: int, *, now: datetime, seed: int = 11
) -> tuple[list[Question], list[Planned]]:
    """Questions about a day of the last week, and older posts about a twin of each event: the same kind, the
    same names, other numbers.
    """
    rng = random.Random(seed)
    questions: list[Question] = []
    twins: list[Planned] = []
    threads = list(_threads(posts).values())
    rng.shuffle(threads)
    for its in threads:
        story, language, day = its[0].story, rng.choice(its).root.channel.language, day_of(its[0])
        assert story is not None
        if len(questions) == count or (now.date() - day).days >= len(WEEKDAYS["ru"]):
            continue
        template = TEMPLATES[story.event.name][language == "en"]
        text = fill_template(template, story.values, language, rng)
        questions.append(
            Question(_at_day(text, day, now.date(), language, rng), language, "dated", story, day)
        )
        twin = replace(story, values=story.wrong, begins=story.begins - DAYS_BETWEEN * 86_400)
        twins += [
            replace(post, story=twin, date=post.date - DAYS_BETWEEN * 86_400, source=None)
            for post in its
            if post.source is None
        ]
    return questions, twins


def undated_traps(posts: Sequence[Planned], count: int, *, now: datetime, seed: int = 11) -> list[Question]:
    """Three kinds that no post answers: the right name with a wrong verb, the right event with its names
    swapped, the right words about another day.
    """
    rng = random.Random(seed)
    stories = [its[0].story for its in _threads(posts).values() if its[0].story is not None]
    rng.shuffle(stories)
    made: dict[str, list[Question]] = defaultdict(list)
    for language in ("ru", "en"):
        for story in stories:
            if "city" in story.values:
                template = rng.choice(WRONG_VERBS)[language == "en"]
                text = fill_template(template, story.values, language, rng)
                made["wrong_verb"].append(Question(text, language, "wrong_verb"))
            if story.event.name in SWAPPED and not _is_mirrored(story, stories):
                template = SWAPPED[story.event.name][language == "en"]
                text = fill_template(template, story.values, language, rng)
                made["wrong_role"].append(Question(text, language, "wrong_role"))
            day = datetime.fromtimestamp(story.begins, UTC).date() - timedelta(days=2)
            text = fill_template(TEMPLATES[story.event.name][language == "en"], story.values, language, rng)
            question = Question(
                _at_day(text, day, now.date(), language, rng), language, "other_day", story, day
            )
            if not any(day_of(post) == day and is_about(question, post) for post in posts):
                made["other_day"].append(replace(question, story=None))
    for questions in made.values():
        rng.shuffle(questions)
    return [question for questions in made.values() for question in questions[:count]]


def _is_mirrored(story: Story, stories: Sequence[Story]) -> bool:
    """Whether another story has the same two names the other way round."""
    first, second = ("home", "away") if "home" in story.values else ("buyer", "target")
    return any(
        other.event is story.event
        and other.values[first] == story.values[second]
        and other.values[second] == story.values[first]
        for other in stories
    )


def _at_day(text: str, day: date, today: date, language: str, rng: random.Random) -> str:
    """The question with the day: today, yesterday, a weekday of the last week, or a date."""
    ago = (today - day).days
    is_russian = language == "ru"
    month = MONTHS[language][day.month - 1]
    phrases = [f"{day.day} {month}" if is_russian else f"on {day.day} {month}"]
    if ago == 0:
        phrases.append("сегодня" if is_russian else "today")
    elif ago == 1:
        phrases.append("вчера" if is_russian else "yesterday")
    elif ago < len(WEEKDAYS["ru"]):
        weekday = WEEKDAYS[language][day.weekday()]
        phrases.append(weekday if is_russian else f"on {weekday}")
    return f"{text.removesuffix('?')} {rng.choice(phrases)}?"


def _threads(posts: Sequence[Planned]) -> dict[int, list[Planned]]:
    by_story: dict[int, list[Planned]] = defaultdict(list)
    for post in posts:
        if post.story is not None and post.story.event.name in TEMPLATES and not post.denies:
            by_story[post.story.number].append(post)
    return by_story


def questions_about(posts: Sequence[Planned], count: int, *, seed: int = 11) -> list[Question]:
    """Questions, half of which posts answer. The others have real names without such a story, invented names,
    or another topic.
    """
    rng = random.Random(seed)
    by_story = _threads(posts)
    threads = [thread for thread in by_story.values() if len({post.channel.name for post in thread}) > 1]
    rng.shuffle(threads)
    answerable = []
    for its in threads[: count // 2]:
        story, language = its[0].story, rng.choice(its).root.channel.language
        assert story is not None
        template = TEMPLATES[story.event.name][language == "en"]
        answerable.append(
            Question(fill_template(template, story.values, language, rng), language, "answerable", story)
        )
    stories = [its[0].story for its in by_story.values() if its[0].story is not None]
    return answerable + _unanswerable(stories, count - len(answerable), rng)


def is_about(question: Question, post: Planned) -> bool:
    """Whether the post tells the story asked about, or another one of the same kind about the same names."""
    if question.story is None or post.story is None or post.story.event is not question.story.event:
        return False
    template = TEMPLATES[question.story.event.name][question.language == "en"]
    return all(
        post.story.values[slot] == question.story.values[slot]
        for slot in _named_slots(template, question.story)
    )


def _unanswerable(stories: Sequence[Story], count: int, rng: random.Random) -> list[Question]:
    questions: list[Question] = []
    kinds = ("no_such_story", "no_such_story", "invented_name", "off_topic")
    seen: set[str] = set()
    while len(questions) < count:
        kind, language = kinds[len(questions) % len(kinds)], rng.choice(("ru", "en"))
        story = rng.choice(stories)
        template = TEMPLATES[story.event.name][language == "en"]
        slots = _named_slots(template, story)
        if kind == "off_topic":
            text = rng.choice(OFF_TOPIC[language])
        elif kind == "invented_name":
            name = rng.choice(INVENTED[language])
            values = {
                **story.values,
                **dict.fromkeys(
                    slots, Name("city", dict.fromkeys(("nom", "gen", "loc", "sex"), name), {"nom": name})
                ),
            }
            text = fill_template(template, values, language, rng)
        else:
            slot = rng.choice(slots)
            choices = [choice for choice in story.event.slots[slot] if isinstance(choice, Name)]
            taken = [other.values[slot] for other in stories if other.event is story.event]
            free = [
                choice for choice in choices if choice not in taken and choice not in story.values.values()
            ]
            if not free:
                continue
            text = fill_template(template, {**story.values, slot: rng.choice(free)}, language, rng)
        if text not in seen or kind == "off_topic":
            seen.add(text)
            questions.append(Question(text, language, kind))
    return questions


def _named_slots(template: str, story: Story) -> list[str]:
    named = [
        slot
        for slot, value in story.values.items()
        if isinstance(value, Name) and value.kind in {*NAMED, "institute"}
    ]
    return [slot for slot in named if f"{{{slot}" in template]
