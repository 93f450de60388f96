"""Puts reasons into the reader's language: catalogues in `translations/`, numbers and times by Babel."""

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO

from telegram_assistant.reasons import Parameter, Reason, Wording

ENGLISH = "en"
LANGUAGES = (ENGLISH, "ru")
MAX_HEADER_LENGTH = 200


def translate(reason: Reason, language: str, *, zone: tzinfo = UTC) -> str:
    """The reason as a sentence. In English it is the same as `str`, with times in `zone`."""
    translated = translator(language)
    template = translated.gettext(reason.text)
    if reason.plural:
        template = translated.ngettext(reason.text, reason.plural, _count(reason))
    return _LocalWording(language, zone).vformat(template, (), reason.parameters)


@cache
def translator(language: str, domain: str = "reasons") -> NullTranslations:
    """The catalogue `domain` in one of LANGUAGES. English is the language of the source and needs none."""
    if language == ENGLISH:
        return NullTranslations()
    from babel.messages.mofile import write_mo  # noqa: PLC0415 -- Babel loads slowly, and English needs none
    from babel.messages.pofile import read_po  # noqa: PLC0415 -- as above

    compiled_catalogue = BytesIO()
    with (files("telegram_assistant") / "translations" / language / "LC_MESSAGES" / f"{domain}.po").open(
        "rb"
    ) as catalogue:
        write_mo(compiled_catalogue, read_po(catalogue))
    compiled_catalogue.seek(0)
    return GNUTranslations(compiled_catalogue)


def language_of_header(header: str) -> str:
    """The language that an Accept-Language header prefers among ours; English if it names none of them."""
    preferences = [
        preference.strip().partition(";") for preference in header[:MAX_HEADER_LENGTH].lower().split(",")
    ]
    ranked_preferences = sorted(preferences, key=lambda preference: -_quality(preference[2]))
    return next(
        (
            language
            for tag, _, quality in ranked_preferences
            if _quality(quality) and (language := tag.partition("-")[0].strip()) in LANGUAGES
        ),
        ENGLISH,
    )


def terminal_language(environ: Mapping[str, str]) -> str:
    """The language of messages in a terminal, by the variables of POSIX."""
    value = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := environ.get(name))), "")
    language = value.partition(".")[0].partition("_")[0].lower()
    return language if language in LANGUAGES else ENGLISH


def _quality(written_text: str) -> float:
    name, _, value = written_text.partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0


def _count(reason: Reason) -> int:
    count = reason.parameters["count"]
    assert isinstance(count, int)  # a test sees to it that a plural has a count
    return count


class _LocalWording(Wording):
    """Numbers and times as the language writes them, if the template gives them a format;
    ids have none and stay as they are.
    """

    def __init__(self, language: str, zone: tzinfo) -> None:
        self._language, self._zone = language, zone

    def format_field(self, value: Parameter, format_spec: str) -> str:
        if isinstance(value, Reason):
            return translate(value, self._language, zone=self._zone)
        if isinstance(value, datetime):
            return self._format_time(value.astimezone(self._zone), format_spec)
        if isinstance(value, str) or not format_spec or self._language == ENGLISH:
            return super().format_field(value, format_spec)
        return _format_number(value, format_spec, self._language)

    def _format_time(self, time: datetime, format_spec: str) -> str:
        return (
            super().format_field(time, format_spec)
            if self._language == ENGLISH
            else _format_time(time, format_spec, self._language)
        )


def _format_number(value: float, format_spec: str, language: str) -> str:
    from babel.numbers import format_decimal, format_percent  # noqa: PLC0415 -- as above

    if format_spec.endswith("%"):
        return format_percent(value, locale=language)
    return format_decimal(round(value) if format_spec.endswith("0f") else value, locale=language)


def _format_time(time: datetime, format_spec: str, language: str) -> str:
    from babel.dates import format_date, format_datetime  # noqa: PLC0415 -- as above

    date_pattern = "d MMMM y" if not format_spec or "%Y" in format_spec else "d MMMM"
    if format_spec and "%H" not in format_spec:
        return format_date(time, date_pattern, locale=language)
    return format_datetime(time, f"{date_pattern}, HH:mm", locale=language)
