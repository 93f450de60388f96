"""Readers meet plain words: no variable of the server and no part of the program on their pages."""

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

import telegram_assistant
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.web.page import Page
from telegram_assistant.web.site import OF_TENANT

PACKAGE = Path(telegram_assistant.__file__).parent
CATALOGUES = PACKAGE / "translations/ru/LC_MESSAGES"
TEMPLATES = PACKAGE / "web/templates"
MANAGING = {
    route.template
    for route in OF_TENANT
    if isinstance(route, Page) and route.needs in {KeyScope.ADMIN, KeyScope.OPERATE}
}
CHOOSING = {"app.html", "link.html", "tenants.html", "members.html", "member.html", "start.html"}
"""Pages on which people choose between tenants, manage one, or start the installation."""
READER_MODULES = (
    "domain/channels/channel_requests.py",
    "domain/lists",
    "domain/media",
    "domain/search",
    "domain/understanding/crawling.py",
    "domain/watches",
    "features/ask",
    "features/channels/channels.py",
    "features/digests",
    "features/feed",
    "features/graph",
    "features/lists",
    "features/search",
    "features/stories",
    "features/watches",
)
"""Their reasons stand on pages of readers."""
PLACEHOLDER = re.compile(r"%\(\w+\)s|\{\w*(?:[!:][^}]*)?\}")
VARIABLE = r"\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b"
COMMAND = r"\btga [a-z]+\b"
IDENTIFIER = r"(?<!@)\b[a-z]+_[a-z_]+\b"
PARTS = r"\b(?:vectors?|tenants?|stages?|qdrant|neo4j|redis|postgresql|вектор\w*|тенант\w*|стади[яийюе]\w*)\b"
WORDS = re.compile(f"{VARIABLE}|{COMMAND}|{IDENTIFIER}|(?i:{PARTS})")


def texts_of(catalogue: str) -> list[tuple[set[str], str]]:
    """Each message with the files that have it, in English and in Russian."""
    with (CATALOGUES / catalogue).open("rb") as file:
        messages = [message for message in read_po(file) if message.id]
    return [
        ({str(place) for place, _ in message.locations}, PLACEHOLDER.sub("", " ".join(flat(part))))
        for message in messages
        for part in (message.id, message.string)
    ]


def flat(part: str | list[str] | tuple[str, ...] | None) -> list[str]:
    return [part] if isinstance(part, str) else list(part or ())


def test_the_templates_of_readers_name_no_variable_and_no_part_of_the_program() -> None:
    readers = {
        f"templates/{path.name}"
        for path in TEMPLATES.glob("*.html")
        if path.name not in MANAGING | CHOOSING and not path.name.startswith("operations")
    }
    assert len(readers) > 30
    texts = [text for places, text in texts_of("messages.po") if places & readers]
    assert len(texts) > 500
    assert [text for text in texts if WORDS.search(text)] == []


def test_the_reasons_that_readers_meet_name_no_variable_and_no_part_of_the_program() -> None:
    texts = [
        text
        for places, text in texts_of("reasons.po")
        if any(place.startswith(READER_MODULES) for place in places)
    ]
    assert len(texts) > 100
    assert [text for text in texts if WORDS.search(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "set QDRANT_URL",
        "`tga channels list` shows them",
        "(ai_policy off)",
        "Vectors are off",
        "in this tenant",
        "векторы выключены",
    ],
)
def test_such_words_are_found(text: str) -> None:
    assert WORDS.search(text)
