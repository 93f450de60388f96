"""Templates in two languages, and the filters that put times, numbers and sizes into words."""

import hashlib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from importlib import resources
from urllib.parse import quote
from zoneinfo import ZoneInfo

from babel import Locale
from babel.dates import format_date, format_datetime, format_time, format_timedelta, get_day_names
from babel.numbers import format_compact_decimal, format_currency, format_decimal, format_percent
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from telegram_assistant.domain.people.person import Language
from telegram_assistant.domain.posts.post import Post
from telegram_assistant.domain.understanding.spending import MILLION
from telegram_assistant.reasons import Reason
from telegram_assistant.translation import say, translator
from telegram_assistant.web.extracts import plain_excerpt, render_highlights, render_pieces
from telegram_assistant.web.formatting import render_text
from telegram_assistant.web.links import safe_link

STATIC = resources.files("telegram_assistant.web") / "static"
DOMAIN = "messages"
"""The catalogue of what templates say."""
TODAY = timedelta(hours=20)
UNITS = ("B", "KB", "MB", "GB", "TB")
KILO_BITS = 10
BROWSERS = (("Firefox/", "Firefox"), ("Edg/", "Edge"), ("OPR/", "Opera"), ("YaBrowser/", "Yandex"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
SYSTEMS = (("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS", "macOS"), ("Linux", "Linux"))
"""What user agents contain, the more specific first."""


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


@cache
def environment(language: Language) -> Environment:
    made = Environment(
        loader=PackageLoader("telegram_assistant.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n", "jinja2.ext.do"],
    )
    made.install_gettext_translations(translator(language.value, DOMAIN), newstyle=True)  # type: ignore[attr-defined]  # added by the extension
    made.policies["ext.i18n.trimmed"] = True
    made.globals |= {"static": static_url, "language": language.value}
    made.filters |= {
        "when": _when,
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
        "weekday": _weekday,
        "decimal": _decimal,
        "percent": _percent,
        "language_name": _language_name,
        "telegram": _telegram,
        "say": _say,
        "sentence": _sentence,
        "browser": _browser,
        "safe_link": safe_link,
        "excerpt": plain_excerpt,
        "pieces": render_pieces,
        "highlights": render_highlights,
    }
    return made


@cache
def static_url(name: str) -> str:
    """The address of a file of ours. It changes with the content, so browsers may keep it for a year."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{name}?v={digest}"


def _locale() -> Locale:
    return Locale(_reader.get().language.value)


def _local(moment: datetime) -> datetime:
    return moment.astimezone(_reader.get().zone)


def _exact(moment: datetime) -> str:
    return format_datetime(_local(moment), "d MMMM y, HH:mm:ss z", locale=_locale())


def _clock(moment: datetime) -> str:
    return format_time(_local(moment), "HH:mm", locale=_locale())


def _day(moment: datetime) -> str:
    local, today = _local(moment), _local(_reader.get().now)
    return format_date(local, "d MMMM" if local.year == today.year else "d MMMM y", locale=_locale())


def _when(moment: datetime) -> Markup:
    """A short relative time, exact on hover."""
    age = _reader.get().now - moment
    if timedelta(0) <= age < TODAY:
        shown = format_timedelta(-age, granularity="minute", add_direction=True, threshold=0.9, format="short", locale=_locale())
    else:
        shown = f"{_day(moment)}, {_clock(moment)}"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(moment.astimezone(UTC).isoformat(), _exact(moment), shown)


def _telegram(post: Post, *, base: str, spoiler_label: str, quote_label: str) -> Markup:
    """The text of a post; its hashtags lead to our own search."""
    search = f"{base}/search?q="
    return render_text(
        post.text, post.entities, search_url=lambda words: search + quote(words, safe=""), spoiler_label=spoiler_label, quote_label=quote_label
    )


def _say(reason: Reason) -> str:
    return say(reason, _reader.get().language.value, zone=_reader.get().zone)


def _sentence(reason: Reason) -> str:
    """The reason in the reader's language, with a capital letter and a full stop."""
    text = _say(reason)
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
    return format_currency(amount, unit, "#,##0.00\N{NO-BREAK SPACE}¤", locale=_locale(), decimal_quantization=not 0 < amount < Decimal("0.1"))


def _number(number: float) -> str:
    return format_decimal(number, locale=_locale())


def _compact(number: float) -> str:
    return format_compact_decimal(number, fraction_digits=1, locale=_locale())


def _size(size_bytes: int) -> str:
    power = min(len(UNITS) - 1, max(0, size_bytes.bit_length() - 1) // KILO_BITS)
    return f"{format_decimal(round(size_bytes / 2 ** (KILO_BITS * power), 1), format='#,##0.#', locale=_locale())} {UNITS[power]}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02}"


def _span(seconds: float) -> str:
    """A length of time in words, like 25 minutes."""
    return format_timedelta(timedelta(seconds=seconds), granularity="second", threshold=1.5, locale=_locale())


def _weekday(day: int, *, short: bool = False) -> str:
    """The name of a day of the week, Monday being 0."""
    return str(get_day_names("short" if short else "wide", context="stand-alone", locale=_locale())[day])


def _decimal(number: float) -> str:
    """At most one digit after the point."""
    return format_decimal(number, format="#,##0.#", locale=_locale())


def _language_name(code: str) -> str:
    return str(_locale().languages.get(code, code))


def _percent(share: float) -> str:
    """Rounded down, so that 100 % means all."""
    return format_percent(int(share * 100) / 100, locale=_locale())
