"""Sentences with numbers of the same thing that contradict nothing: ages, years, ranges, parts, roundings."""

import random
import re

from telegram_simulator.world.demo.packs import EventType, Numbers
from telegram_simulator.world.demo.plan import Day, Planned, Story
from telegram_simulator.world.demo.wording import fill_template, number_of
from telegram_simulator.world.unruly.pack import unruly_pack

COUNTED = ("compared", "range", "part", "rounded", "table")
UNCOUNTED = ("age", "year")
MARKETS = ("market", "tech")


def noun_of(event: EventType, language: str) -> str | None:
    """The forms of the noun that the event's key number counts, as the templates have them."""
    words = event.words[language]
    templates = " ".join((*words["lead"], *words["head"], *words["card"]))
    if forms := re.search(rf"\{{{event.key}:([^{{}}]*)\}}", templates):
        return forms[1]
    match = re.search(rf"\{{{event.key}\}} ([a-zа-яё]+)", templates)
    if match is not None and not match[1].endswith(("ых", "их")):  # an adjective, not a noun
        return "|".join([match[1]] * (3 if language == "ru" else 2))
    return None


def say_number(number: float, forms: str, language: str) -> str:
    """A number with its noun."""
    only_noun = "|".join(form.split(" ")[0] for form in forms.split("|"))
    return fill_template(f"{{n:{only_noun}}}", {"n": number}, language, random.Random(0))


def plant_number(day: Day, post: Planned) -> tuple[str, str]:
    """A sentence for the post, and which kind it is."""
    rng, story, language = day.rng, post.story, post.channel.language
    assert story is not None
    texts = unruly_pack().texts["numbers"]
    forms, slot = noun_of(story.event, language), story.event.slots[story.event.key]
    assert isinstance(slot, Numbers)
    kinds = [*UNCOUNTED, *(("rates",) if story.event.topic in MARKETS else ())]
    if forms is not None and slot.low.is_integer() and slot.high - slot.low > 8:
        kinds += COUNTED
    kind = rng.choice(kinds)
    template = rng.choice(texts[f"{language}_{kind}"])
    if kind == "rates":
        dollar = 88 + rng.randrange(800) / 100
        return template.format(_money(dollar, language), _money(dollar * 1.08, language)), kind
    if kind in UNCOUNTED or forms is None:
        return template, kind
    low, high = sorted(_other_numbers(day, story, slot))
    if kind == "rounded":
        value = story.values[story.event.key]
        low = round(value / 10) * 10 or 10 if isinstance(value, int) else low
    noun = say_number(high if kind in {"range", "part"} else low, forms, language).split(" ", 1)[1]
    return template.format(low, high, noun), kind


def _other_numbers(day: Day, story: Story, slot: Numbers) -> tuple[int, int]:
    """Two different ones that nobody claims of the story; their nouns stand in the plural of many."""
    taken_numbers = {story.values[story.event.key], story.wrong[story.event.key]}
    numbers: list[int] = []
    for _ in range(200):
        number = int(number_of(Numbers(slot.low, slot.high * 2, slot.step), day.rng))
        if number not in taken_numbers and number % 10 not in range(1, 5) and number > 4:
            taken_numbers.add(number)
            numbers.append(number)
        if len(numbers) == 2:
            break
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (5, 10)


def _money(amount: float, language: str) -> str:
    text = f"{amount:.2f}"
    return text.replace(".", ",") if language == "ru" else text
