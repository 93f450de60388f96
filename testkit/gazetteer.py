"""Writes the English names of countries, cities and languages out of CLDR, which Babel brings (Unicode
licence).
"""

import re
from collections.abc import Iterator

from babel import Locale

GAZETTEER = "src/telegram_assistant/ai/local/gazetteer.txt"
_PLAIN = re.compile(r"[^\W\d_]+(?:[ '’.-]+[^\W\d_]+)*")
_NO_CITIES = frozenset({"Etc", "Antarctica", "Arctic"})
_NO_COUNTRIES = frozenset({"EZ", "QO", "UN", "XA", "XB", "ZZ"})


def _places() -> Iterator[tuple[str, str]]:
    english = Locale("en")
    for code, name in english.territories.items():
        if code not in _NO_COUNTRIES:
            yield "country", re.sub(r" \(.*\)| SAR China$| - .*$", "", name).replace("’", "'")
    for zone in Locale("ru").time_zones:
        area, _, city = str(zone).partition("/")
        if area not in _NO_CITIES:
            yield "place", city.rpartition("/")[2].replace("_", " ")
    for name in (
        "US",
        "USA",
        "U.S",
        "UK",
        "U.K",
        "EU",
        "UAE",
        "America",
        "Britain",
        "England",
        "Scotland",
        "Kyiv",
    ):
        yield "place", name


def _adjectives() -> Iterator[str]:
    yield from (name for name in Locale("en").languages.values() if " " not in name)
    yield from ("American", "British", "European", "Asian", "African", "Israeli", "Canadian", "Australian")


def update_gazetteer() -> str:
    lines = {f"{kind} {name}" for kind, name in _places() if _PLAIN.fullmatch(name)}
    lines |= {f"adjective {name}" for name in _adjectives() if _PLAIN.fullmatch(name)}
    return "\n".join(sorted(lines)) + "\n"
