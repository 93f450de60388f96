"""Every setting of an installation: read once from the environment, frozen, and passed as an argument.

A new variable comes with the code that uses it, a test that changes it, and a run of `make generate`.
Choices of a tenant or a person are not settings: PostgreSQL stores them and a change needs no restart.
This file is long because it is the one list of all settings.
"""

import base64
import difflib
import re
import socket
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_network
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from telegram_assistant.errors import SettingsError

HIDDEN = "********"
SESSION_KEY_BYTES = 32
MAX_PORT = 65535
LOOPBACK = "127.0.0.1"
OURS = ("PARSER_", "FEATURE_", "CRAWL_", "AI_")
"""Prefixes that only this program uses: an unknown name with one of them is a mistake."""


def variable(name: str, default: Any = ..., *, help: str, also: str = "", **rules: Any) -> Any:  # noqa: A002, ANN401 -- pydantic's own Field is typed so
    """Declares one environment variable; `also` is its second accepted name."""
    return Field(default, description=help, json_schema_extra={"variable": name, "also": also}, **rules)


def known_zone(name: str) -> str:
    """Returns the name unchanged if this time zone exists, otherwise raises ValueError."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise ValueError("unknown time zone; write it like Europe/Moscow or UTC") from error
    return name


def _ipv4(address: str) -> str:
    try:
        return str(IPv4Address(address))
    except ValueError as error:
        raise ValueError("not an IPv4 address; host names are not accepted") from error


def _web_address(url: str) -> str:
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise ValueError("it must be a URL that begins with https:// or http://")
    return url


def _base_url(url: str) -> str:
    if url and (
        urlsplit(url).scheme not in {"http", "https"}
        or not urlsplit(url).hostname
        or urlsplit(url).path not in {"", "/"}
    ):
        raise ValueError("write it like https://news.example, without a path")
    return url.removesuffix("/")


def _split_networks(text: str) -> tuple[str, ...]:
    try:
        return tuple(str(ip_network(part, strict=False)) for part in _split(text))
    except ValueError as error:
        raise ValueError(
            "write addresses or networks separated by commas, like 127.0.0.1,10.0.0.0/8"
        ) from error


def _collection_prefix(prefix: str) -> str:
    # An installation without a prefix takes every collection named posts-... for its own.
    if not re.fullmatch(r"[A-Za-z0-9_-]{0,60}", prefix) or prefix.startswith("posts-"):
        raise ValueError(
            "use up to 60 letters, digits, hyphens and underscores; it must not begin with posts-"
        )
    return prefix


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _split_providers(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")]
    if len(set(names)) != len(names) or not set(names) <= {"gigachat", "openai"}:
        raise ValueError("write gigachat, openai, or both separated by a comma; the first one is asked first")
    return tuple(names)


def _url_of(*schemes: str) -> AfterValidator:
    def check(url: SecretStr) -> SecretStr:
        if urlsplit(url.get_secret_value()).scheme not in schemes:
            raise ValueError(f"it must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
        return url

    return AfterValidator(check)


def _split_sites(text: str) -> tuple[str, ...]:
    sites = [site.lower().removeprefix("www.").removesuffix(".") for site in _split(text)]
    if any(not site or set(site) & set("/:@*? ") for site in sites):
        raise ValueError(
            "write domain names separated by commas, like example.org,news.example; subdomains are included"
        )
    return tuple(sites)


def _host_and_port(address: str) -> str:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("write it like 127.0.0.1:8013")
    return address


def _split_origins(text: str) -> tuple[str, ...]:
    origins = [origin.removesuffix("/") for origin in _split(text)]
    if any(
        urlsplit(origin).scheme not in {"http", "https"}
        or not urlsplit(origin).netloc
        or urlsplit(origin).path
        for origin in origins
    ):
        raise ValueError(
            "write origins like https://desk.example, separated by commas and without a path; "
            "* is not accepted"
        )
    return tuple(origins)


def session_keys(text: str) -> tuple[bytes, ...]:
    """Returns the keys in SESSION_ENCRYPTION_KEY, the one that encrypts first.

    Raises ValueError if one of them is not a valid key.
    """
    try:
        keys = [
            base64.b64decode(part.strip(), altchars=b"-_", validate=True)
            for part in text.split(",")
            if part.strip()
        ]
    except ValueError:
        keys = [b""]
    if any(len(key) != SESSION_KEY_BYTES for key in keys):
        raise ValueError("not a valid key; set it to what `tga accounts key` prints, and keep a copy of it")
    return tuple(keys)


def _check_session_keys(text: SecretStr) -> SecretStr:
    session_keys(text.get_secret_value())
    return text


def _split_host_names(text: str) -> tuple[str, ...]:
    names = [name.lower() for name in _split(text)]
    if any(set(name) & set("/:@*? ") for name in names):
        raise ValueError(
            "write host names separated by commas and without ports, like telethon-ingest,desk.example; "
            "* is not accepted"
        )
    return tuple(names)


def split_port(address: str) -> tuple[str, int | None]:
    """Returns host or network, without brackets, and port: `n8n:5678`, `n8n`, `fd12::1`, `[fd12::1]:8123`,
    `[fd12::/64]:8123`.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isascii() or not port.isdecimal() or (":" in host and not host.startswith("[")):
        host, port = address, ""
    return host.removeprefix("[").removesuffix("]"), int(port) if port else None


def _join_port(host: str, port: int | None) -> str:
    if port is None:
        return host
    if not 0 < port <= MAX_PORT:
        raise ValueError
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _split_allowed_hosts(text: str) -> tuple[str, ...]:
    def canonical(entry: str) -> str:
        host, port = split_port(entry)
        if ":" in host:
            return _join_port(str(IPv6Address(host)), port)
        name = host.encode("idna").decode("ascii").lower().removesuffix(".")
        if not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*", name):
            raise ValueError
        return _join_port(name, port)

    try:
        return tuple(canonical(entry) for entry in _split(text))
    except ValueError as error:
        raise ValueError(
            "write host names separated by commas, each with its port if that is not 80 or 443, "
            "like n8n:5678; * is not accepted"
        ) from error


def _split_allowed_networks(text: str) -> tuple[str, ...]:
    def canonical(entry: str) -> str:
        network, port = split_port(entry)
        return _join_port(str(ip_network(network, strict=False)), port)

    try:
        return tuple(canonical(entry) for entry in _split(text))
    except ValueError as error:
        raise ValueError(
            "write networks separated by commas, each with its port if that is not 80 or 443, "
            "like 192.168.1.0/24:8123"
        ) from error


PostgresUrl = Annotated[SecretStr, _url_of("postgresql", "postgres")]
RedisUrl = Annotated[SecretStr, _url_of("redis", "rediss")]
Port = Annotated[int, Field(ge=0, le=MAX_PORT)]
Sites = Annotated[tuple[str, ...], BeforeValidator(_split_sites)]


class LogLevel(StrEnum):
    """The least severe level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ModeOverride(StrEnum):
    """The parsing mode that an operator forces on all channels; `auto` forces none."""

    AUTO = "auto"
    HISTORICAL = "historical"
    INCREMENTAL = "incremental"


class SchedulerPolicy(StrEnum):
    """How the scheduler chooses the channel to read next."""

    FRESH = "fresh"
    CLASSIC = "classic"


class ProxyType(StrEnum):
    """The protocol of a proxy."""

    SOCKS5 = "socks5"
    SOCKS4 = "socks4"
    HTTP = "http"


class EmbeddingSource(StrEnum):
    """Where embeddings come from.

    One source for the whole installation: vectors of two models cannot be compared.
    """

    LOCAL = "local"
    GIGACHAT = "gigachat"
    OPENAI = "openai"


class GigaChatScope(StrEnum):
    """The kind of customer that the key belongs to."""

    PERSON = "GIGACHAT_API_PERS"
    COMPANY_PREPAID = "GIGACHAT_API_B2B"
    COMPANY_POSTPAID = "GIGACHAT_API_CORP"


class SettingsGroup(BaseModel):
    """Related settings. Errors never repeat a wrong value: it may be a secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class DatabaseLogin(StrEnum):
    """A process that connects to PostgreSQL. Each may have its own login, or all share one."""

    API = "api"
    SYSTEM = "system"
    INGEST = "ingest"

    @property
    def variable(self) -> str:
        """The environment variable that holds its URL."""
        return "DATABASE_URL" if self is DatabaseLogin.API else f"DATABASE_{self.name}_URL"


class DatabaseSettings(SettingsGroup):
    """PostgreSQL: the source of truth."""

    url: PostgresUrl = variable(
        "DATABASE_URL",
        help="PostgreSQL, for API requests. The login must not be a superuser and must not own tables. "
        "Connect directly, or through a pooler in session mode.",
    )
    system_url: PostgresUrl | None = variable(
        "DATABASE_SYSTEM_URL",
        None,
        help="The same database with the login of the worker and of periodic jobs, which see every tenant. "
        "Empty: DATABASE_URL.",
    )
    ingest_url: PostgresUrl | None = variable(
        "DATABASE_INGEST_URL",
        None,
        help="The same database with the login of the ingest role, the only one that reads sessions. Empty: "
        "DATABASE_SYSTEM_URL.",
    )
    admin_url: PostgresUrl | None = variable(
        "DATABASE_ADMIN_URL",
        None,
        help="The same database with a login that may create roles and tables. Only `tga migrate` uses it. "
        "Empty: DATABASE_URL.",
    )
    data_folder: Path | None = variable(
        "DATABASE_DATA_DIR",
        None,
        help="Folder with PostgreSQL's data, or any folder on its disk, if it is on this machine: "
        "its free space is watched. "
        "Empty: it is not, because PostgreSQL tells it to superusers only.",
    )
    pool_size: int = variable(
        "DATABASE_POOL_SIZE",
        10,
        help="Maximum number of connections per login in one process.",
        ge=1,
        le=1000,
    )

    def url_of(self, login: DatabaseLogin) -> SecretStr:
        """Returns the URL with this login. INGEST falls back to SYSTEM, and SYSTEM to API."""
        system_url = self.system_url or self.url
        return {
            DatabaseLogin.API: self.url,
            DatabaseLogin.SYSTEM: system_url,
            DatabaseLogin.INGEST: self.ingest_url or system_url,
        }[login]

    def name_of(self, login: DatabaseLogin) -> str:
        """Returns the database user of this login."""
        return unquote(urlsplit(self.url_of(login).get_secret_value()).username or "")

    @property
    def separates_system(self) -> bool:
        """Whether API requests use another login than the worker."""
        return self.name_of(DatabaseLogin.API) != self.name_of(DatabaseLogin.SYSTEM)


class RedisSettings(SettingsGroup):
    """Redis: delivery, leases, caches."""

    url: RedisUrl = variable(
        "REDIS_URL", help="Redis 7 or newer, with appendonly on and maxmemory-policy noeviction."
    )


class TelegramSettings(SettingsGroup):
    """The connection to Telegram: application, sessions, proxy."""

    api_id: int = variable(
        "TELEGRAM_API_ID",
        0,
        help="The api_id of your application, from my.telegram.org. 0: what was entered on the page.",
        ge=0,
    )
    api_hash: SecretStr = variable(
        "TELEGRAM_API_HASH",
        SecretStr(""),
        help="The api_hash of your application. Empty: what was entered on the page.",
    )
    session_string: SecretStr = variable(
        "TELEGRAM_SESSION_STRING",
        SecretStr(""),
        help="Telethon session string of an account. It is imported once, then ignored.",
    )
    encryption_key: Annotated[SecretStr, AfterValidator(_check_session_keys)] = variable(
        "SESSION_ENCRYPTION_KEY",
        SecretStr(""),
        help="Key that encrypts stored sessions; `tga accounts key` prints one. To change it, "
        "put the new key and a comma before the old one.",
    )
    proxy_addr: str = variable(
        "TELEGRAM_PROXY_ADDR",
        "",
        help="Host of the proxy for connections to Telegram. Empty: what was entered on the page, else none.",
    )
    proxy_port: Port = variable("TELEGRAM_PROXY_PORT", 1080, help="TCP port of the proxy.")
    proxy_type: ProxyType = variable(
        "TELEGRAM_PROXY_TYPE", ProxyType.SOCKS5, help="Protocol of the proxy: socks5, socks4 or http."
    )
    proxy_username: str = variable(
        "TELEGRAM_PROXY_USERNAME", "", help="User name for the proxy. Empty: no authentication."
    )
    proxy_password: SecretStr = variable(
        "TELEGRAM_PROXY_PASSWORD", SecretStr(""), help="Password for the proxy."
    )
    dc_addr: Annotated[str, AfterValidator(_ipv4)] = variable(
        "TELEGRAM_DC_ADDR", "", help="IPv4 address of a simulator. Empty: Telegram's own data centres."
    )
    dc_port: Port = variable("TELEGRAM_DC_PORT", 443, help="TCP port of the simulator.")
    dc_public_key: str = variable(
        "TELEGRAM_DC_PUBLIC_KEY",
        "",
        help="Public key (PEM) of the simulator, needed to log in there; "
        "TELEGRAM_DC_PUBLIC_KEY_FILE is easier. Empty: Telegram's own keys.",
    )


class ParserSettings(SettingsGroup):
    """How channels are followed."""

    incremental: bool = variable(
        "FEATURE_INCREMENTAL_PARSING_ENABLED",
        default=True,
        help="true: a run reads only new posts. false: every run reads its whole window again "
        "(PARSER_HISTORICAL_HOURS).",
    )
    adaptive: bool = variable(
        "FEATURE_ADAPTIVE_THRESHOLDS_ENABLED",
        default=True,
        help="true: thresholds follow each channel's usual rhythm. false: fixed thresholds, "
        "1 hour of silence and a 5-minute overlap between runs.",
    )
    mode: ModeOverride = variable(
        "PARSER_MODE_OVERRIDE",
        ModeOverride.AUTO,
        help="Parsing mode of all channels: auto, historical or incremental.",
    )
    interval_seconds: int = variable(
        "PARSER_SCHEDULER_INTERVAL_SEC",
        300,
        help="Seconds between two scheduler ticks; with the classic policy also between two polls of a "
        "channel.",
        ge=1,
    )
    policy: SchedulerPolicy = variable(
        "PARSER_SCHEDULER_POLICY",
        SchedulerPolicy.FRESH,
        help="fresh: active channels are read more often. classic: every channel is read at every tick.",
    )
    concurrency: int = variable(
        "PARSER_MAX_CONCURRENCY",
        4,
        help="Maximum number of channels that one process reads at once. An account reads one at a time.",
        ge=1,
        le=1000,
    )
    attempts: int = variable(
        "PARSER_RETRY_MAX",
        3,
        help="Maximum number of attempts per channel and run, the first included. "
        "A wait that Telegram asks for does not count.",
        ge=1,
    )
    historical_hours: int = variable(
        "PARSER_HISTORICAL_HOURS", 24, help="Minimum window that a historical run reads, in hours.", ge=1
    )
    window_days: int = variable(
        "PARSER_STATS_WINDOW_DAYS",
        14,
        help="Days of posts from which a channel's usual intervals between posts are computed.",
        ge=1,
    )
    max_age_hours: int = variable(
        "LPA_MAX_AGE_HOURS",
        48,
        also="PARSER_LPA_MAX_AGE_HOURS",
        help="A channel that has not been read for this many hours is read in historical mode.",
        ge=1,
    )
    joins_per_day: int = variable(
        "PUSH_JOINS_PER_DAY",
        0,
        help="Number of active public channels that each account may join per day, "
        "so that Telegram pushes their posts within a second. "
        "The account's owner sees them in the list of chats. 0: none.",
        ge=0,
        le=20,
    )
    quiet_zone: Annotated[str, AfterValidator(known_zone)] = variable(
        "QUIET_HOURS_TZ",
        "Europe/Moscow",
        help="Time zone of nights and weekends, when channels are usually silent.",
    )


class PreviewSettings(SettingsGroup):
    """Public previews: the pages of a channel that t.me shows without an account."""

    enabled: bool = variable(
        "PREVIEWS_ENABLED",
        default=False,
        help="true: public channels that no account can open are read from their preview pages, "
        "which show the newest posts only.",
    )
    url: Annotated[str, AfterValidator(_web_address)] = variable(
        "PREVIEWS_URL", "https://t.me", help="Address of the preview pages; for tests, that of a simulator."
    )


class StreamSettings(SettingsGroup):
    """Redis Streams, which carry events between stages."""

    partitions: int = variable(
        "STREAM_PARTITIONS",
        1,
        help="Number of streams per event type, partitioned by channel. "
        "Change it only while the streams are empty, then run `tga streams refill`.",
        ge=1,
        le=1024,
    )
    max_entries: int = variable(
        "STREAM_MAX_ENTRIES",
        200_000,
        help="While a stream holds more entries than this, posts wait in PostgreSQL, "
        "and health names the slow stage.",
        ge=1,
    )


class FilesSettings(SettingsGroup):
    """Media: in S3, or in a folder when S3_ENDPOINT is empty."""

    endpoint: str = variable(
        "S3_ENDPOINT",
        "",
        help="URL of the S3 server, with http:// or https://. Empty: media are stored in FILES_DIR.",
    )
    region: str = variable("S3_REGION", "us-east-1", help="Region that requests are signed for.")
    bucket: str = variable("S3_BUCKET", "", help="Bucket that holds the media.")
    access_key_id: SecretStr = variable(
        "S3_ACCESS_KEY_ID", SecretStr(""), help="Access key ID for the S3 server."
    )
    secret_access_key: SecretStr = variable(
        "S3_SECRET_ACCESS_KEY", SecretStr(""), help="Secret access key for the S3 server."
    )
    force_path_style: bool = variable(
        "S3_FORCE_PATH_STYLE",
        default=True,
        help="true: http://server/bucket/file, as most self-hosted servers expect. false: "
        "http://bucket.server/file.",
    )
    folder: Path | None = variable(
        "FILES_DIR", None, help="Folder for media when S3_ENDPOINT is empty. Both empty: no media are stored."
    )
    max_bytes: int = variable(
        "MEDIA_MAX_BYTES", 20 * 1024 * 1024, help="Files larger than this are not downloaded.", ge=1
    )
    quota_bytes: int = variable(
        "MEDIA_QUOTA_BYTES",
        0,
        help="Bytes of media that a tenant may store, unless it has its own quota. 0: no limit.",
        ge=0,
    )
    min_free_percent: int = variable(
        "MEDIA_MIN_FREE_PERCENT",
        10,
        help="Per cent of the disks of FILES_DIR and MEDIA_SPOOL_DIR that must stay free. With less, "
        "files are not downloaded and posts still are.",
        ge=0,
        le=90,
    )
    spool: Path | None = variable(
        "MEDIA_SPOOL_DIR",
        None,
        help="Folder for unfinished downloads; a persistent one lets them resume after a restart. Empty: "
        "a folder under the system's temporary one.",
    )


class CrawlSettings(SettingsGroup):
    """Reading the pages that posts link to."""

    enabled: bool = variable(
        "CRAWL_ENABLED",
        default=True,
        help="true: the pages that posts link to are read. false: posts are processed without them.",
    )
    allow: Sites = variable(
        "CRAWL_ALLOW",
        (),
        help="Domain names, separated by commas: only these sites and their subdomains are read. Empty: "
        "all sites.",
    )
    deny: Sites = variable(
        "CRAWL_DENY",
        (),
        help="Domain names, separated by commas: these sites and their subdomains are never read.",
    )
    max_links: int = variable(
        "CRAWL_MAX_LINKS", 3, help="Maximum number of links that are read per post.", ge=1, le=20
    )
    max_bytes: int = variable(
        "CRAWL_MAX_BYTES",
        3_000_000,
        help="Pages larger than this, compressed or decompressed, are not read.",
        ge=1,
    )
    max_seconds: float = variable(
        "CRAWL_TIMEOUT_SECONDS",
        10.0,
        help="Seconds that a post waits for its linked pages; then it is processed without them.",
        gt=0,
        le=60,
    )
    every_seconds: float = variable(
        "CRAWL_SITE_INTERVAL_SECONDS",
        1.0,
        help="Minimum number of seconds between two requests to one site, across all processes; "
        "its robots.txt may ask for more.",
        ge=0,
    )
    crawler_address: Annotated[str, AfterValidator(_host_and_port)] = variable(
        "CRAWLER_ADDRESS",
        "",
        help="host:port of the browser process; set the same value for it and for the worker. Empty: "
        "pages that need a browser are not read.",
    )
    browser_path: str = variable(
        "BROWSER_PATH", "chromium", help="Path or name of the Chromium executable, for the browser process."
    )


class GraphSettings(SettingsGroup):
    """Neo4j: who forwards whom. Optional."""

    uri: str = variable(
        "NEO4J_URI", "", help="URI of the Neo4j server, like bolt://host:7687. Empty: the graph is off."
    )
    user: str = variable("NEO4J_USER", "neo4j", help="User name for Neo4j.")
    password: SecretStr = variable("NEO4J_PASSWORD", SecretStr(""), help="Password for Neo4j.")


class VectorSettings(SettingsGroup):
    """Qdrant: semantic search over posts. A server, or embedded when QDRANT_URL is empty. Optional."""

    url: Annotated[str, AfterValidator(_web_address)] = variable(
        "QDRANT_URL",
        "",
        help="URL of the Qdrant server, like http://host:6333; needed when worker and api are separate "
        "processes. Empty: VECTORS_DIR.",
    )
    api_key: SecretStr = variable(
        "QDRANT_API_KEY", SecretStr(""), help="API key for Qdrant, if it requires one."
    )
    collection_prefix: Annotated[str, AfterValidator(_collection_prefix)] = variable(
        "QDRANT_COLLECTION_PREFIX",
        "",
        help="Prefix of every collection name, like acme-, so that several installations can share one "
        "Qdrant server.",
    )
    folder: Path | None = variable(
        "VECTORS_DIR",
        None,
        help="Folder for vectors when QDRANT_URL is empty; only one process can open it at a time. "
        "Both empty: search is by words only.",
    )


class GigaChatSettings(SettingsGroup):
    """GigaChat, a provider of chat, vision and embeddings. Optional."""

    credentials: SecretStr = variable(
        "GIGACHAT_CREDENTIALS",
        SecretStr(""),
        help="Authorization key of a GigaChat project. Empty: GigaChat is off.",
    )
    scope: GigaChatScope = variable(
        "GIGACHAT_SCOPE",
        GigaChatScope.PERSON,
        help="GIGACHAT_API_PERS (individual), GIGACHAT_API_B2B (prepaid) or GIGACHAT_API_CORP (postpaid).",
    )
    model: str = variable("GIGACHAT_MODEL", "GigaChat-2", help="Model for text.")
    vision_model: str = variable(
        "GIGACHAT_VISION_MODEL", "GigaChat-2-Pro", help="Model for pictures; Lite models cannot process them."
    )
    ca_bundle_file: Path | None = variable(
        "GIGACHAT_CA_BUNDLE_FILE",
        None,
        help="PEM file of the Russian Trusted Root CA, which signs GigaChat's certificates. "
        "These are always verified.",
    )
    base_url: str = variable("GIGACHAT_BASE_URL", "https://api.giga.chat/v1", help="URL of the GigaChat API.")
    auth_url: str = variable(
        "GIGACHAT_AUTH_URL",
        "https://ngw.devices.sberbank.ru:9443/api/v2/oauth",
        help="URL that issues GigaChat access tokens.",
    )
    streams: int = variable(
        "GIGACHAT_STREAMS",
        0,
        help="Maximum number of concurrent calls, across all processes. 0: 1 for an individual, "
        "10 for a company.",
        ge=0,
        le=1000,
    )
    per_minute: int = variable(
        "GIGACHAT_REQUESTS_PER_MINUTE",
        0,
        help="Maximum number of calls per minute, across all processes. 0: no limit.",
        ge=0,
    )

    @property
    def streams_in_force(self) -> int:
        """GIGACHAT_STREAMS, or the number of concurrent calls that Sber grants to this kind of customer."""
        return self.streams or (1 if self.scope is GigaChatScope.PERSON else 10)


class OpenAiSettings(SettingsGroup):
    """Any server that speaks OpenAI's protocol: OpenAI, vLLM, Ollama, llama.cpp. Optional."""

    base_url: str = variable(
        "OPENAI_BASE_URL",
        "",
        help="URL of the API, with /v1. Empty: OpenAI itself, if OPENAI_API_KEY is set.",
    )
    api_key: SecretStr = variable(
        "OPENAI_API_KEY",
        SecretStr(""),
        help="API key; self-hosted servers usually need none. OPENAI_BASE_URL and key both empty: "
        "this provider is off.",
    )
    model: str = variable("OPENAI_MODEL", "gpt-4o-mini", help="Model for text.")
    vision_model: str = variable("OPENAI_VISION_MODEL", "", help="Model for pictures. Empty: OPENAI_MODEL.")
    streams: int = variable(
        "OPENAI_STREAMS", 4, help="Maximum number of concurrent calls, across all processes.", ge=1, le=1000
    )
    per_minute: int = variable(
        "OPENAI_REQUESTS_PER_MINUTE",
        0,
        help="Maximum number of calls per minute, across all processes. 0: no limit.",
        ge=0,
    )


class AiSettings(SettingsGroup):
    """How posts are analysed. Without a provider, local models and rules do it."""

    providers: Annotated[tuple[str, ...], BeforeValidator(_split_providers)] = variable(
        "AI_PROVIDERS",
        ("gigachat", "openai"),
        help="Providers in the order in which they are asked, separated by commas. "
        "Providers that are not configured are skipped.",
    )
    embeddings: EmbeddingSource = variable(
        "AI_EMBEDDINGS", EmbeddingSource.LOCAL, help="Source of embeddings: local, gigachat or openai."
    )
    embeddings_model: str = variable(
        "AI_EMBEDDINGS_MODEL",
        "",
        help="Model for embeddings. Empty: intfloat/multilingual-e5-small (local), Embeddings (gigachat), "
        "text-embedding-3-small (openai).",
    )
    prices: Path | None = variable(
        "AI_PRICES_FILE",
        None,
        help="Price list for your tariff, in the format of ai/prices.toml. Empty: "
        "the list that comes with the program.",
    )
    models: Path = variable(
        "MODELS_DIR",
        Path("models"),
        help="Folder of embedding models for AI_EMBEDDINGS=local; `tga models pull` fills it.",
    )
    hub_url: str = variable(
        "MODELS_HUB_URL",
        "https://huggingface.co",
        help="Server from which `tga models pull` downloads models.",
    )

    @property
    def embeddings_model_in_force(self) -> str:
        """The model that makes all embeddings of this installation."""
        defaults = {
            EmbeddingSource.LOCAL: "intfloat/multilingual-e5-small",
            EmbeddingSource.GIGACHAT: "Embeddings",
            EmbeddingSource.OPENAI: "text-embedding-3-small",
        }
        return self.embeddings_model or defaults[self.embeddings]


class HttpSettings(SettingsGroup):
    """The HTTP servers of the roles."""

    host: str = variable(
        "HTTP_HOST",
        "127.0.0.1",
        help="Address to listen on. In a container, use 0.0.0.0 and set OPERATOR_KEY.",
    )
    ingest_port: Port = variable("INGEST_PORT", 8011, help="TCP port of the ingest role.")
    worker_port: Port = variable("WORKER_PORT", 8012, help="TCP port of the worker role.")
    api_port: Port = variable("API_PORT", 8000, help="TCP port of the api role.")
    operator_key: SecretStr = variable(
        "OPERATOR_KEY",
        SecretStr(""),
        help="The operator's key for /api/v1, health details, metrics and reading a channel on demand "
        "(Authorization: Bearer KEY); "
        "`tga keys operator` prints one. Empty: no operator key, "
        "and health details and metrics are served to this machine only.",
    )
    allowed_hosts: Annotated[tuple[str, ...], BeforeValidator(_split_host_names)] = variable(
        "ALLOWED_HOSTS",
        (),
        help="Host names, separated by commas, that requests for pages, health details, "
        "metrics and reading a channel on demand may use "
        "besides localhost, HTTP_HOST, the address of the server itself and, for pages, BASE_URL. "
        "Requests with other host names are refused.",
    )
    request_timeout_seconds: float = variable(
        "HTTP_REQUEST_TIMEOUT_SECONDS",
        10.0,
        help="Seconds that a client has to send the headers of a request, and again to send its body; "
        "then its connection is closed.",
        gt=0,
        le=600,
    )
    max_expensive_per_tenant: int = variable(
        "EXPENSIVE_REQUESTS_AT_ONCE",
        1,
        help="Maximum number of expensive requests (questions, searches, previews, imports; "
        "pages and API together) of one tenant that a process "
        "runs at once; the process runs twice as many. The others wait for their turn.",
        ge=1,
        le=1000,
    )
    operations_host: str = variable(
        "OPERATIONS_HOST",
        "",
        help="Address to listen on for the three operations ports below. Empty: HTTP_HOST.",
    )
    ingest_operations_port: Port | None = variable(
        "INGEST_OPERATIONS_PORT",
        None,
        help="TCP port for health details, metrics and reading a channel on demand of the ingest role; "
        "INGEST_PORT then does not serve them. "
        "Empty: INGEST_PORT.",
    )
    worker_operations_port: Port | None = variable(
        "WORKER_OPERATIONS_PORT",
        None,
        help="TCP port for health details and metrics of the worker role. Empty: WORKER_PORT.",
    )
    api_operations_port: Port | None = variable(
        "API_OPERATIONS_PORT",
        None,
        help="TCP port for health details and metrics of the api role, so that API_PORT can be public. "
        "Empty: API_PORT.",
    )


class ApiSettings(SettingsGroup):
    """Limits of /api/v1."""

    per_minute: int = variable(
        "API_REQUESTS_PER_MINUTE",
        600,
        help="Maximum number of requests per minute for one key, across all processes.",
        ge=1,
        le=10**6,
    )
    burst: int = variable(
        "API_REQUESTS_AT_ONCE", 120, help="Maximum burst of requests for one key.", ge=1, le=10**6
    )
    tenant_per_minute: int = variable(
        "API_TENANT_REQUESTS_PER_MINUTE",
        1200,
        help="Maximum number of requests per minute for all keys of a tenant together.",
        ge=1,
        le=10**6,
    )
    tenant_burst: int = variable(
        "API_TENANT_REQUESTS_AT_ONCE",
        240,
        help="Maximum burst of requests for all keys of a tenant together.",
        ge=1,
        le=10**6,
    )
    timeout_seconds: float = variable(
        "API_TIMEOUT_SECONDS", 15.0, help="Seconds after which a request is answered with 503.", gt=0, le=600
    )
    max_bytes: int = variable(
        "API_MAX_BODY_BYTES",
        1_000_000,
        help="Maximum size of a request body; larger ones are refused with 413.",
        ge=1,
    )
    cors_origins: Annotated[tuple[str, ...], BeforeValidator(_split_origins)] = variable(
        "API_CORS_ORIGINS",
        (),
        help="Origins whose pages may call the API from a browser (CORS), like https://desk.example, "
        "separated by commas. Empty: none.",
    )


class WebSettings(SettingsGroup):
    """The pages."""

    per_minute: int = variable(
        "WEB_REQUESTS_PER_MINUTE",
        600,
        help="Maximum number of pages and forms per minute for one person, or one network without a login, "
        "across all processes; "
        "a fifth of them at once. An expensive page counts as ten; "
        "of pictures and files there may be three times as many.",
        ge=5,
        le=10**6,
    )
    tenant_per_minute: int = variable(
        "WEB_TENANT_REQUESTS_PER_MINUTE",
        2400,
        help="Maximum number of pages and forms per minute for all people of a tenant together, "
        "counted in the same way.",
        ge=5,
        le=10**6,
    )
    secret_key: SecretStr = variable(
        "SECRET_KEY",
        SecretStr(""),
        help="Secret of this installation, at least 32 letters, the same in every api and worker process: "
        "it seals the secrets of webhooks, signs "
        "the addresses of pictures in feeds, and links in mails and the code of the first owner are made "
        "from it. Empty: no webhooks, no e-mail.",
    )
    base_url: Annotated[str, AfterValidator(_base_url)] = variable(
        "BASE_URL",
        "",
        help="Address of the pages as people type it, like https://news.example; used in links. "
        "Pages answer under this name, under localhost "
        "and under plain addresses only. Empty: http://HTTP_HOST:API_PORT.",
    )
    trusted_proxies: Annotated[tuple[str, ...], BeforeValidator(_split_networks)] = variable(
        "TRUSTED_PROXIES",
        (),
        help="Addresses or networks of reverse proxies, separated by commas, like 127.0.0.1 or 10.0.0.0/8. "
        "Only their X-Forwarded-For and "
        "X-Forwarded-Proto are believed.",
    )
    interests_minutes: int = variable(
        "INTERESTS_SYNC_INTERVAL_MIN",
        30,
        help="Minutes between two runs of the job that learns what interests people.",
        ge=1,
        le=1440,
    )

    @property
    def host(self) -> str:
        """The host of BASE_URL; empty without one."""
        return urlsplit(self.base_url).hostname or ""

    @property
    def is_https(self) -> bool:
        return self.base_url.startswith("https://")


class MailSecurity(StrEnum):
    """How the connection to the mail server is encrypted."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


class MailSettings(SettingsGroup):
    """The mail server that delivers alerts."""

    host: str = variable(
        "SMTP_HOST", "", help="Mail server that delivers alerts by e-mail. Empty: no e-mail is sent."
    )
    port: Port = variable("SMTP_PORT", 587, help="TCP port of the mail server.")
    security: MailSecurity = variable(
        "SMTP_SECURITY",
        MailSecurity.STARTTLS,
        help="Encryption of the connection to the mail server: starttls, tls or none.",
    )
    user: str = variable("SMTP_USER", "", help="User name at the mail server. Empty: no login.")
    password: SecretStr = variable("SMTP_PASSWORD", SecretStr(""), help="Password at the mail server.")
    sender: str = variable(
        "SMTP_FROM", "telegram-assistant@localhost", help="Sender of the mails, like news@example.org."
    )


class DeliverySettings(SettingsGroup):
    """How much leaves the installation."""

    per_hour: int = variable(
        "DELIVERIES_PER_HOUR",
        2000,
        help="Attempts to deliver alerts and digests that a tenant may make in an hour; "
        "the rest waits for the next hour.",
        ge=1,
    )


class OutboundSettings(SettingsGroup):
    """What webhooks may reach beside the public web, for all tenants.

    Linked pages are read from the public web only.
    """

    hosts: Annotated[tuple[str, ...], BeforeValidator(_split_allowed_hosts)] = variable(
        "OUTBOUND_ALLOWED_HOSTS",
        (),
        help="Host names that webhooks may reach although they are private or use another port, "
        "separated by commas, like n8n:5678 or "
        "mattermost.corp. Without a port: 80 and 443. Metadata services of clouds and the servers of this "
        "installation are never reached.",
    )
    networks: Annotated[tuple[str, ...], BeforeValidator(_split_allowed_networks)] = variable(
        "OUTBOUND_ALLOWED_NETWORKS",
        (),
        help="Networks that webhooks may reach, by address or by a name that leads there, "
        "separated by commas, like 192.168.1.0/24:8123 or "
        "[fd12::/64]:8123. Without a port: 80 and 443.",
    )


class TelemetrySettings(SettingsGroup):
    """Logs, metrics, traces."""

    log_level: LogLevel = variable(
        "LOG_LEVEL", LogLevel.INFO, help="Least severe level that is logged: debug, info, warning or error."
    )
    time_zone: Annotated[str, AfterValidator(known_zone)] = variable(
        "TZ", "UTC", help="Time zone of the times that commands print. Stored times are UTC."
    )
    traces_endpoint: str = variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "",
        help="URL of the OpenTelemetry collector (OTLP over HTTP). Empty: no traces are sent.",
    )
    max_channel_series: int = variable(
        "METRICS_MAX_CHANNELS",
        1000,
        help="Maximum number of channels with their own metric series; above it, "
        "gauges show those with the worst values.",
        ge=1,
    )


class ProcessSettings(SettingsGroup):
    """This process."""

    host_name: str = variable(
        "HOSTNAME",
        "",
        help="Name of this instance in health reports, locks and stream consumer names. Empty: "
        "the name of the host.",
    )
    shutdown_grace_seconds: float = variable(
        "SHUTDOWN_GRACE_SECONDS",
        20.0,
        help="Seconds that running work has to finish after SIGTERM.",
        ge=0,
        le=3600,
    )

    @property
    def instance_name(self) -> str:
        """The name of this instance: HOSTNAME, or the name of the host."""
        return self.host_name or socket.gethostname()


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
    http: HttpSettings
    api: ApiSettings
    web: WebSettings
    mail: MailSettings
    delivery: DeliverySettings
    outbound: OutboundSettings
    telemetry: TelemetrySettings
    process: ProcessSettings

    @property
    def pages_url(self) -> str:
        """Where a browser finds the pages: BASE_URL, or the port of the api role as this machine reaches it.

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
                name=_name_of(field),
                group=group_name,
                field=field_name,
                about=field.description or "",
                default="" if field.is_required() else plain(field.default),
                required=field.is_required(),
                secret="SecretStr" in repr(field.annotation),
                also=_spelling_of(field, "also"),
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


def read_group[G: SettingsGroup](group: type[G], environ: Mapping[str, str]) -> G:
    """Builds one group of settings, for a command that needs no others."""
    problems: list[str] = []
    values = {
        name: value
        for name, field in group.model_fields.items()
        if (value := _value_of(field, environ, problems))
    }
    if not problems:
        try:
            return group.model_validate(values)
        except ValidationError as error:
            problems += _explain_problems(group, error)
    raise SettingsError(problems)


def unknown_names(environ: Mapping[str, str], *, in_file: Collection[str] = ()) -> list[str]:
    """Returns a warning for each unknown name that looks like a setting, so that a typing error does not go
    unnoticed.

    `in_file`: names from `.env`, where any name close to a known one is a mistake. Other exported variables
    may belong to other programs.
    """
    names = [known.name for known in variables()]
    spelled = [*names, *(known.also for known in variables() if known.also)]
    known_names = {*spelled, *(f"{name}_FILE" for name in spelled)}
    sentences = []
    for name in sorted({*environ, *in_file} - known_names):
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.8)
        if name.startswith(OURS) or (name in in_file and near):
            hint = f"; did you mean {near[0]}?" if near else ""
            sentences.append(f"{name} is unknown to this version and has no effect{hint}")
    return sentences


def effective(settings: Settings) -> Iterator[tuple[Variable, str]]:
    """Yields each variable with its value in force; secrets are hidden."""
    for known in variables():
        value = getattr(getattr(settings, known.group), known.field)
        yield known, _hidden(value) if known.secret else plain(value)


def location_of(url: SecretStr) -> str:
    """Returns the address without user and password, for messages and logs."""
    parts = urlsplit(url.get_secret_value())
    host = parts.hostname or ""
    return f"{host}:{parts.port}{parts.path}" if parts.port else f"{host}{parts.path}"


def plain(value: object) -> str:
    """Returns a value as it is written in the environment."""
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _hidden(value: SecretStr | None) -> str:
    if value is None or not value.get_secret_value():
        return ""
    parts = urlsplit(value.get_secret_value())
    if parts.scheme and parts.hostname:
        user = (
            f"{parts.username}:{HIDDEN}@"
            if parts.password
            else f"{parts.username}@"
            if parts.username
            else ""
        )
        port = f":{parts.port}" if parts.port else ""
        return urlunsplit((parts.scheme, f"{user}{parts.hostname}{port}", parts.path, "", ""))
    return HIDDEN


def _value_of(field: FieldInfo, environ: Mapping[str, str], problems: list[str]) -> str:
    name, also = _name_of(field), _spelling_of(field, "also")
    if also and (environ.get(also) or environ.get(f"{also}_FILE")):
        if environ.get(name) or environ.get(f"{name}_FILE"):
            problems.append(f"{name} and {also} are both set; keep one")
        return _text_of(also, environ, problems)
    return _text_of(name, environ, problems)


def _text_of(name: str, environ: Mapping[str, str], problems: list[str]) -> str:
    value, file_name = environ.get(name, ""), environ.get(f"{name}_FILE", "")
    if value and file_name:
        problems.append(f"{name} and {name}_FILE are both set; keep one")
    if not value and file_name:
        try:
            value = Path(file_name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            problems.append(
                f"{name}_FILE cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
            )
    return value


def _explain_problems(group: type[SettingsGroup], error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        name = _name_of(group.model_fields[str(problem["loc"][0])])
        why = (
            "is required"
            if problem["type"] == "missing"
            else f"is wrong: {problem['msg'].removeprefix('Value error, ')}"
        )
        yield f"{name} {why}"


def _group_type(field: FieldInfo) -> type[SettingsGroup]:
    group = field.annotation
    assert isinstance(group, type)  # Settings holds groups only
    assert issubclass(group, SettingsGroup)
    return group


def _name_of(field: FieldInfo) -> str:
    return _spelling_of(field, "variable")


def _spelling_of(field: FieldInfo, which: str) -> str:
    extra = field.json_schema_extra
    assert isinstance(extra, dict)  # every field is declared by variable()
    return str(extra[which])
