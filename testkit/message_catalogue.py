"""The messages of the pages, and the catalogue with their translations."""

from collections.abc import Iterator
from io import BytesIO

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.pofile import read_po, write_po

from testkit.checkouts import CHECKOUT

WEB = CHECKOUT / "src/telegram_assistant/web"
MESSAGES = "src/telegram_assistant/translations/ru/LC_MESSAGES/messages.po"
OPTIONS = {"extensions": "jinja2.ext.do", "trimmed": "true", "newstyle_gettext": "true"}

type Message = str | tuple[str, ...]


def declared_messages() -> Iterator[tuple[str, Message, str | None]]:
    """Every message with the file that has it and its context."""
    for file in sorted([*WEB.glob("templates/*.html"), *WEB.rglob("*.py")]):
        method = "jinja2.ext:babel_extract" if file.suffix == ".html" else "python"
        options = OPTIONS if file.suffix == ".html" else {}
        with file.open("rb") as opened:
            messages = extract(method, opened, keywords=DEFAULT_KEYWORDS, options=options)
            for _, message, _, context in messages:
                yield str(file.relative_to(WEB)), message, context


def update_messages() -> str:
    """The catalogue with every declared message and no other; a new one has no translation yet."""
    path = CHECKOUT / MESSAGES
    written = path.read_text(encoding="utf-8")
    catalogue = read_po(BytesIO(written.encode()), locale="ru")
    extracted = Catalog(locale="ru")
    for place, message, context in declared_messages():
        extracted.add(message, locations=[(place, 0)], context=context)
    catalogue.update(extracted, no_fuzzy_matching=True, update_creation_date=False)
    body = BytesIO()
    write_po(body, catalogue, omit_header=True, ignore_obsolete=True, include_lineno=False, width=0)
    header, _, _ = written.partition("\n\n")
    return f"{header}\n\n{body.getvalue().decode().strip()}\n"
