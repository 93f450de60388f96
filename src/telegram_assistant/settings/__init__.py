"""Every setting of an installation: read once from the environment, frozen, and passed as an argument.

`Settings` is the one list of all groups. A new variable comes with the code that uses it, a test that changes
it, and a run of `make generate`. Choices of a tenant or a person are not settings: PostgreSQL stores them and
a change needs no restart.
"""

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from pydantic.fields import FieldInfo

from telegram_assistant.errors import SettingsError
from telegram_assistant.settings.ai import (
    AiSettings,
    EmbeddingSource,
    EmbeddingsSettings,
    GigaChatSettings,
    OpenAiSettings,
)
from telegram_assistant.settings.crawl import CrawlSettings
from telegram_assistant.settings.database import DatabaseLogin, DatabaseSettings, PostgresUrl
from telegram_assistant.settings.declaring import SettingsGroup, check_zone
from telegram_assistant.settings.delivery import (
    DeliverySettings,
    MailSecurity,
    MailSettings,
    OutboundSettings,
    split_port,
)
from telegram_assistant.settings.files import FilesSettings
from telegram_assistant.settings.http import ApiSettings, HttpSettings
from telegram_assistant.settings.indexes import GraphSettings, VectorSettings
from telegram_assistant.settings.parser import ModeOverride, ParserSettings, PreviewSettings, SchedulerPolicy
from telegram_assistant.settings.process import ProcessSettings
from telegram_assistant.settings.reading import name_of, read_group, spelling_of
from telegram_assistant.settings.redis import RedisSettings
from telegram_assistant.settings.streams import StreamSettings
from telegram_assistant.settings.telegram import SESSION_KEY_BYTES, ProxyType, TelegramSettings, session_keys
from telegram_assistant.settings.telemetry import LogLevel, TelemetrySettings
from telegram_assistant.settings.value_display import hide_secret, location_of, plain
from telegram_assistant.settings.web import WebSettings

__all__ = [
    "SESSION_KEY_BYTES",
    "AiSettings",
    "ApiSettings",
    "CrawlSettings",
    "DatabaseLogin",
    "DatabaseSettings",
    "EmbeddingSource",
    "EmbeddingsSettings",
    "FilesSettings",
    "GigaChatSettings",
    "GraphSettings",
    "HttpSettings",
    "LogLevel",
    "MailSecurity",
    "MailSettings",
    "ModeOverride",
    "OpenAiSettings",
    "OutboundSettings",
    "ParserSettings",
    "PostgresUrl",
    "PreviewSettings",
    "ProxyType",
    "RedisSettings",
    "SchedulerPolicy",
    "Settings",
    "SettingsGroup",
    "TelegramSettings",
    "TelemetrySettings",
    "Variable",
    "VectorSettings",
    "WebSettings",
    "check_zone",
    "effective",
    "location_of",
    "plain",
    "read_group",
    "read_settings",
    "session_keys",
    "split_port",
    "unknown_names",
    "variables",
]

LOOPBACK = "127.0.0.1"
OURS = ("PARSER_", "FEATURE_", "CRAWL_", "AI_")
"""Prefixes that only this program uses: an unknown name with one of them is a mistake."""


class Settings(SettingsGroup):
    """The whole installation."""

    database: DatabaseSettings
    redis: RedisSettings
    telegram: TelegramSettings
    parser: ParserSettings
    previews: PreviewSettings
    streams: StreamSettings
    files: FilesSettings
    crawl: CrawlSettings
    graph: GraphSettings
    vectors: VectorSettings
    ai: AiSettings
    gigachat: GigaChatSettings
    openai: OpenAiSettings
    embeddings: EmbeddingsSettings
    http: HttpSettings
    api: ApiSettings
    web: WebSettings
    mail: MailSettings
    delivery: DeliverySettings
    outbound: OutboundSettings
    telemetry: TelemetrySettings
    process: ProcessSettings

    @property
    def local_vectors_model(self) -> str | None:
        """The model for embeddings if it runs here or on a server that the operator calls his own;
        None if a provider makes them.
        """
        is_local = self.ai.embeddings is EmbeddingSource.LOCAL or self.has_own_embeddings
        return self.ai.embeddings_model_in_force if is_local else None

    @property
    def has_own_embeddings(self) -> bool:
        return self.ai.embeddings is EmbeddingSource.OPENAI and self.embeddings.is_own

    @property
    def pages_url(self) -> str:
        """The address at which a browser finds the pages: BASE_URL, or the port of the api role as this
        machine reaches it.

        No request decides it.
        """
        host = {"": LOOPBACK, str(IPv4Address(0)): LOOPBACK, str(IPv6Address(0)): "::1"}.get(
            self.http.host, self.http.host
        )
        return self.web.base_url or f"http://{f'[{host}]' if ':' in host else host}:{self.http.api_port}"


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable, as documentation and `tga doctor` show it."""

    name: str
    group: str
    field: str
    about: str
    default: str
    required: bool
    secret: bool
    also: str


def variables() -> Iterator[Variable]:
    """Yields every variable that this version knows, in the order of `.env.example`."""
    for group_name, group_field in Settings.model_fields.items():
        for field_name, field in _group_type(group_field).model_fields.items():
            yield Variable(
                name=name_of(field),
                group=group_name,
                field=field_name,
                about=field.description or "",
                default="" if field.is_required() else plain(field.default),
                required=field.is_required(),
                secret="SecretStr" in repr(field.annotation),
                also=spelling_of(field, "also"),
            )


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Builds the settings, or raises SettingsError with every problem found."""
    groups: dict[str, SettingsGroup] = {}
    problems: list[str] = []
    for name, field in Settings.model_fields.items():
        try:
            groups[name] = read_group(_group_type(field), environ)
        except SettingsError as error:
            problems += error.problems
    if problems:
        raise SettingsError(problems)
    return Settings.model_validate(groups)


def unknown_names(environ: Mapping[str, str], *, in_file: Collection[str] = ()) -> list[str]:
    """Returns a warning for each unknown name that looks like a setting, so that a typing error does not go
    unnoticed.

    `in_file`: names from `.env`, where any name close to a known one is a mistake. Other exported variables
    may belong to other programs.
    """
    names = [variable.name for variable in variables()]
    spelled = [*names, *(variable.also for variable in variables() if variable.also)]
    known_names = {*spelled, *(f"{name}_FILE" for name in spelled)}
    sentences = []
    for name in sorted({*environ, *in_file} - known_names):
        similar_names = difflib.get_close_matches(name, names, n=1, cutoff=0.8)
        if name.startswith(OURS) or (name in in_file and similar_names):
            hint = f"; did you mean {similar_names[0]}?" if similar_names else ""
            sentences.append(f"{name} is unknown to this version and has no effect{hint}")
    return sentences


def effective(settings: Settings) -> Iterator[tuple[Variable, str]]:
    """Yields each variable with its value in force; secrets are hidden."""
    for variable in variables():
        value = getattr(getattr(settings, variable.group), variable.field)
        yield variable, hide_secret(value) if variable.secret else plain(value)


def _group_type(field: FieldInfo) -> type[SettingsGroup]:
    group = field.annotation
    assert isinstance(group, type)  # Settings holds groups only
    assert issubclass(group, SettingsGroup)
    return group
