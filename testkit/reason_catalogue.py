"""The reasons that the source declares, and the catalogue with their translations."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from string import Formatter

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from testkit.checkouts import CHECKOUT

SOURCE = CHECKOUT / "src/telegram_assistant"
CATALOGUE = "src/telegram_assistant/translations/ru/LC_MESSAGES/reasons.po"


@dataclass(frozen=True, slots=True)
class DeclaredReason:
    """A call of Reason in the source. A part that is not written out is None."""

    file: Path
    line: int
    code: str | None
    text: str | None
    plural: str | None
    parameters: frozenset[str | None]

    def __str__(self) -> str:
        return f"{self.file.relative_to(CHECKOUT)}:{self.line}"


@cache
def declared_reasons() -> Sequence[DeclaredReason]:
    return [reason for file in sorted(SOURCE.rglob("*.py")) for reason in _reasons_in(file)]


def _reasons_in(file: Path) -> Iterator[DeclaredReason]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reason":
            written = [
                argument.value
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                else None
                for argument in node.args
            ]
            plural = written[2] if len(written) > len(("code", "text")) else ""
            yield DeclaredReason(
                file,
                node.lineno,
                written[0],
                written[1],
                plural,
                frozenset(keyword.arg for keyword in node.keywords),
            )


def placeholders(template: str) -> set[str]:
    """The parameters that a template names."""
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def update_catalogue() -> str:
    """The catalogue with every declared reason and no other; a new one has no translation yet."""
    path = CHECKOUT / CATALOGUE
    written = path.read_text(encoding="utf-8")
    catalogue = read_po(BytesIO(written.encode()), locale="ru")
    extracted = Catalog(locale="ru")
    for reason in sorted(declared_reasons(), key=lambda reason: (reason.file, reason.code or "")):
        assert reason.code and reason.text is not None  # noqa: PT018 -- one promise of the tests
        place = str(reason.file.relative_to(SOURCE))
        extracted.add(
            (reason.text, reason.plural) if reason.plural else reason.text,
            locations=[(place, 0)],
            auto_comments=[reason.code],
        )
    catalogue.update(extracted, no_fuzzy_matching=True, update_creation_date=False)
    body = BytesIO()
    write_po(body, catalogue, omit_header=True, ignore_obsolete=True, include_lineno=False, width=0)
    header, _, _ = written.partition("\n\n")
    return f"{header}\n\n{body.getvalue().decode().strip()}\n"
