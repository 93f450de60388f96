"""Templates in two languages, and the filters that put times, numbers and sizes into words."""

import hashlib
import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache, lru_cache
from gettext import NullTranslations
from importlib import resources
from urllib.parse import quote
from zoneinfo import ZoneInfo

from babel import Locale
from babel.dates import format_date, format_datetime, format_timedelta, get_day_names
from babel.numbers import format_compact_decimal, format_currency, format_decimal, format_percent
from jinja2 import Environment, PackageLoader, StrictUndefined, nodes
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

from telegram_assistant.domain.people.person import Language
from telegram_assistant.domain.posts.post import Post, TextEntity
from telegram_assistant.domain.stories.marks import marks_of
from telegram_assistant.domain.understanding.spending import MILLION
from telegram_assistant.reasons import Reason
from telegram_assistant.translation import translate, translator
from telegram_assistant.web.extracts import plain_excerpt, render_highlights, render_pieces
from telegram_assistant.web.formatting import render_text
from telegram_assistant.web.links import safe_link

STATIC = resources.files("telegram_assistant.web") / "static"
DOMAIN = "messages"
"""The catalogue of what templates say."""
MINUTE, TODAY = timedelta(minutes=1), timedelta(hours=20)
EXACT = "d MMMM y, HH:mm:ss z"
MAX_KEPT_TIMES = 10_000
"""Formatting a time costs as much as the rest of a card, and people of a tenant read the same posts."""
MAX_KEPT_NUMBERS = 10_000
MAX_KEPT_TEXTS, MAX_KEPT_LETTERS, MAX_KEPT_ENTITIES = 2_000, 4_096, 100
"""Formatted texts take 5 KB each on average, and no more than 50."""
_TIME = Markup('<time datetime="%s" title="%s">%s</time>')
UNITS = ("B", "KB", "MB", "GB", "TB")
KILO_BITS = 10
BROWSERS = (
    ("Firefox/", "Firefox"),
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("YaBrowser/", "Yandex"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)
"""Parts of user agents and the names of their systems, the more specific first."""


_FEMININE_SPAN = re.compile(r"\b(секунд|минут|недел)([ая])\b")


@dataclass(frozen=True, slots=True)
class Reader:
    """For whom a page is rendered."""

    language: Language
    zone: ZoneInfo
    now: datetime


_reader: ContextVar[Reader] = ContextVar("reader")


def render(template: str, content: Mapping[str, object], *, reader: Reader) -> str:
    """Renders a template for a reader."""
    token = _reader.set(reader)
    try:
        return environment(reader.language).get_template(template).render(content)
    finally:
        _reader.reset(token)


class _TextsInOneLanguage(NodeTransformer):
    """Puts translations in the place of texts without parameters, so that a page pays nothing for them."""

    def __init__(self, translations: NullTranslations) -> None:
        self._translations = translations

    def visit_Call(self, call: nodes.Call) -> nodes.Node:  # noqa: N802 -- Jinja calls it
        match call:
            case nodes.Call(
                node=nodes.Name(name="_" | "gettext"), args=[nodes.Const(value=str(text))], kwargs=[]
            ):
                return nodes.MarkSafe(nodes.Const(self._translations.gettext(text) % {}))
        return self.generic_visit(call)


class _Environment(Environment):
    """Compiles templates for one language."""

    texts: _TextsInOneLanguage

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template: nodes.Template = self.texts.visit(super()._parse(source, name, filename))
        return template


@cache
def environment(language: Language) -> Environment:
    jinja_environment = _Environment(
        loader=PackageLoader("telegram_assistant.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n", "jinja2.ext.do"],
    )
    translations = translator(language.value, DOMAIN)
    jinja_environment.install_gettext_translations(  # type: ignore[attr-defined]  # added by the extension
        translations, newstyle=True
    )
    jinja_environment.texts = _TextsInOneLanguage(translations)
    jinja_environment.policies["ext.i18n.trimmed"] = True
    jinja_environment.globals |= {"static": static_url, "language": language.value}
    jinja_environment.filters |= {
        "when": _render_moment,
        "is_soon": _is_soon,
        "exact": _exact,
        "clock": _clock,
        "day": _day,
        "number": _number,
        "money": _money,
        "date": _date,
        "compact": _compact,
        "size": _size,
        "duration": _duration,
        "span": _span,
        "lasting": _lasting,
        "weekday": _weekday,
        "decimal": _decimal,
        "percent": _percent,
        "language_name": _language_name,
        "telegram": _telegram,
        "paragraphs": _paragraphs,
        "translate": _translate_reason,
        "sentence": _sentence,
        "browser": _browser,
        "safe_link": safe_link,
        "excerpt": plain_excerpt,
        "marks_of": marks_of,
        "pieces": render_pieces,
        "highlights": render_highlights,
    }
    return jinja_environment


@cache
def static_url(name: str) -> str:
    """The address of a file of ours. It changes with the content, so browsers may keep it for a year."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


@cache
def _locale_of(language: Language) -> Locale:
    return Locale(language.value)


def _locale() -> Locale:
    return _locale_of(_reader.get().language)


def _local(moment: datetime) -> datetime:
    return moment.astimezone(_reader.get().zone)


def _exact(moment: datetime) -> str:
    return _format_moment(moment, EXACT, _reader.get().zone, _reader.get().language)


def _clock(moment: datetime) -> str:
    return _format_moment(moment, "HH:mm", _reader.get().zone, _reader.get().language)


def _day(moment: datetime) -> str:
    is_this_year = _local(moment).year == _local(_reader.get().now).year
    return _format_moment(
        moment, "d MMMM" if is_this_year else "d MMMM y", _reader.get().zone, _reader.get().language
    )


def _render_moment(moment: datetime) -> Markup:
    """A short relative time, exact on hover."""
    age = _reader.get().now - moment
    is_today = timedelta(0) <= age < TODAY
    label = (
        _ago(max(1, age // MINUTE), _reader.get().language)
        if is_today
        else f"{_day(moment)}, {_clock(moment)}"
    )
    return _time(moment, label, _reader.get().zone, _reader.get().language)


def _is_soon(moment: datetime) -> bool:
    """Whether an expected moment is less than a minute away, or over."""
    return moment - _reader.get().now < MINUTE


@lru_cache(maxsize=MAX_KEPT_TIMES)
def _time(moment: datetime, label: str, zone: ZoneInfo, language: Language) -> Markup:
    return _TIME % (moment.astimezone(UTC).isoformat(), _format_moment(moment, EXACT, zone, language), label)


@lru_cache(maxsize=MAX_KEPT_TIMES)
def _format_moment(moment: datetime, pattern: str, zone: ZoneInfo, language: Language) -> str:
    return format_datetime(moment.astimezone(zone), pattern, locale=_locale_of(language))


@lru_cache(maxsize=MAX_KEPT_TIMES)
def _ago(minutes: int, language: Language) -> str:
    """In short units without points: 5 min ago, 11 h ago."""
    words = format_timedelta(
        -minutes * MINUTE,
        granularity="minute",
        add_direction=True,
        threshold=0.9,
        format="short",
        locale=_locale_of(language),
    )
    return words.replace("hr.", "h").replace(".", "")


def _telegram(post: Post, *, base: str, spoiler_label: str, quote_label: str) -> Markup:
    """The text of a post; its hashtags lead to our own search.

    A rendered text stays in a cache, unless it is longer than messages usually are.
    """
    is_kept = len(post.text) <= MAX_KEPT_LETTERS and len(post.entities) <= MAX_KEPT_ENTITIES
    return (_render_text if is_kept else _render_text.__wrapped__)(
        post.text, post.entities, f"{base}/search?q=", spoiler_label, quote_label
    )


def _paragraphs(text: str) -> Markup:
    """The whole text of a post without its formatting."""
    return render_text(text, (), search_url=str, spoiler_label="", quote_label="")


@lru_cache(maxsize=MAX_KEPT_TEXTS)
def _render_text(
    text: str, entities: tuple[TextEntity, ...], search: str, spoiler_label: str, quote_label: str
) -> Markup:
    return render_text(
        text,
        entities,
        search_url=lambda words: search + quote(words, safe=""),
        spoiler_label=spoiler_label,
        quote_label=quote_label,
    )


def _translate_reason(reason: Reason) -> str:
    return translate(reason, _reader.get().language.value, zone=_reader.get().zone)


def _sentence(reason: Reason) -> str:
    """The reason in the reader's language, with a capital letter and a full stop."""
    text = _translate_reason(reason)
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _browser(agent: str) -> str:
    """The name of a browser and its system, as far as a person would recognise them."""
    system = next((name for mark, name in SYSTEMS if mark in agent), "")
    program = next((name for mark, name in BROWSERS if mark in agent), agent[:40] or "?")
    return f"{program}, {system}" if system else program


def _date(day: date) -> str:
    """A day that has no time, as bills have."""
    return format_date(day, "d MMM", locale=_locale())


def _money(micro: int, unit: str) -> str:
    """Millionths of a currency unit; small amounts with all their digits."""
    amount = Decimal(micro) / MILLION
    return format_currency(
        amount,
        unit,
        "#,##0.00\N{NO-BREAK SPACE}¤",
        locale=_locale(),
        decimal_quantization=not 0 < amount < Decimal("0.1"),
    )


def _number(number: float) -> str:
    return _format_number(number, _reader.get().language)


@lru_cache(maxsize=MAX_KEPT_NUMBERS)
def _format_number(number: float, language: Language) -> str:
    return format_decimal(number, locale=_locale_of(language))


def _compact(number: float) -> str:
    return format_compact_decimal(number, fraction_digits=1, locale=_locale())


def _size(size_bytes: int) -> str:
    power = min(len(UNITS) - 1, max(0, size_bytes.bit_length() - 1) // KILO_BITS)
    size = round(size_bytes / 2 ** (KILO_BITS * power), 1)
    return f"{format_decimal(size, format='#,##0.#', locale=_locale())} {UNITS[power]}"


def _duration(seconds: float) -> str:
    minutes, remaining_seconds = divmod(int(seconds), 60)
    return f"{minutes}:{remaining_seconds:02}"


def _span(seconds: float) -> str:
    """A length of time in words, like 25 minutes."""
    return format_timedelta(timedelta(seconds=seconds), granularity="second", threshold=1.5, locale=_locale())


def _lasting(seconds: float) -> str:
    """A length of time as the object of a sentence, like within 25 minutes: Russian has a form for that."""
    return _FEMININE_SPAN.sub(lambda word: word[1] + {"а": "у", "я": "ю"}[word[2]], _span(seconds))


def _weekday(day: int, *, is_short: bool = False) -> str:
    """The name of a day of the week, Monday being 0."""
    return str(get_day_names("short" if is_short else "wide", context="stand-alone", locale=_locale())[day])


def _decimal(number: float) -> str:
    """At most one digit after the point."""
    return format_decimal(number, format="#,##0.#", locale=_locale())


def _language_name(code: str) -> str:
    return str(_locale().languages.get(code, code))


def _percent(share: float) -> str:
    """Rounded down, so that 100 % means all."""
    return format_percent(int(share * 100) / 100, locale=_locale())
