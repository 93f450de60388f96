"""Sentences with holes.

`{city.loc}` is a form of a name, `{days:день|дня|дней}` a number with its noun, `{person?он|она}` goes by
sex, `[one|another]` is either.
"""

import random
import re
from collections.abc import Mapping

from telegram_simulator.world.demo.packs import NAMED, Choice, Name, Numbers

_HOLE = re.compile(r"\{(\w+)(?:([.:?])([^{}]*))?\}|\[([^\[\]]*)\]")

type Values = Mapping[str, Name | int | float]


def draw_values(slots: Mapping[str, Choice], rng: random.Random) -> dict[str, Name | int | float]:
    """A value for every slot; two slots of one kind get different names."""
    values: dict[str, Name | int | float] = {}
    for slot, choice in slots.items():
        if isinstance(choice, Numbers):
            values[slot] = number_of(choice, rng)
        else:
            values[slot] = rng.choice([name for name in choice if name not in values.values()])
    return values


def number_of(numbers: Numbers, rng: random.Random) -> int | float:
    low, high, step = numbers
    if not low.is_integer() or not high.is_integer():
        return round(low + (high - low) * rng.random(), 1)
    return int(low + step * rng.randrange(int((high - low) // step) + 1))


def fill_template(template: str, values: Values, language: str, rng: random.Random) -> str:
    """The sentence with its holes filled, beginning with a capital."""

    def fill(hole: re.Match[str]) -> str:
        slot, mark, word_form, either = hole.groups()
        if either is not None:
            return str(rng.choice(either.split("|")))
        value = values[slot]
        if not isinstance(value, Name):
            return (
                _number(value, language)
                if mark is None
                else f"{_number(value, language)} {_noun(value, word_form.split('|'), language)}"
            )
        if mark == "?":
            return str(word_form.split("|")[value.ru["sex"] == "f"])
        return value.spell(language, word_form or "")

    text = _HOLE.sub(fill, template)
    return text[:1].upper() + text[1:]


def names_somebody(template: str, values: Values) -> bool:
    """Whether the sentence says by name who or where; else it needs another one beside it."""
    return any(
        f"{{{slot}" in template
        for slot, value in values.items()
        if isinstance(value, Name) and value.kind in NAMED
    )


def _number(value: float, language: str) -> str:
    """As people write it: 3 and not 3.0."""
    text = str(value).removesuffix(".0")
    return text.replace(".", ",") if language == "ru" else text


def _noun(value: float, forms: list[str], language: str) -> str:
    """The noun as it stands after a number: один дом, два дома, пять домов; one house, two houses."""
    if language == "en":
        return forms[value != 1]
    if not value.is_integer():
        return forms[1]
    if value % 100 in range(11, 15):
        return forms[2]
    return forms[0] if value % 10 == 1 else forms[1] if value % 10 in range(2, 5) else forms[2]
