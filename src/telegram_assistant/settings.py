"""Every knob of an installation: read once from the environment, frozen, and passed on.

A variable is added here together with the code it steers, a test that turns it, and `make generate`.
What a tenant or a person chooses is no setting: it lives in PostgreSQL and needs no restart.
The file is long because it is the one list of them all.
"""

import base64
import difflib
import re
import socket
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit, urlunsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from telegram_assistant.errors import SettingsError

HIDDEN = "********"
SESSION_KEY_BYTES = 32
OURS = ("PARSER_", "FEATURE_", "CRAWL_", "AI_")
"""Prefixes that only this program uses: a name with one of them that is not known here is a mistake."""


def variable(name: str, default: Any = ..., *, help: str, also: str = "", **rules: Any) -> Any:  # noqa: A002, ANN401 -- pydantic's own Field is typed so
    """Declare one environment variable; `also` is a second spelling that people use."""
    return Field(default, description=help, json_schema_extra={"variable": name, "also": also}, **rules)


def known_zone(name: str) -> str:
    """The same name, where there is such a zone."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise ValueError("this is no time zone; write it like Europe/Moscow or UTC") from error
    return name


def _ipv4(address: str) -> str:
    try:
        return str(IPv4Address(address))
    except ValueError as error:
        raise ValueError("this is no IPv4 address; a name will not do") from error


def _web_address(url: str) -> str:
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise ValueError("it must be an address that begins with https:// or http://")
    return url


def _collection_prefix(prefix: str) -> str:
    # A prefix that begins like our own names would show its collections to the installation without one.
    if not re.fullmatch(r"[A-Za-z0-9_-]{0,60}", prefix) or prefix.startswith("posts-"):
        raise ValueError("use up to 60 letters, digits, hyphens and underscores, not beginning with posts-")
    return prefix


def _known_providers(names: str) -> str:
    listed = [name.strip() for name in names.split(",")]
    if len(set(listed)) != len(listed) or not set(listed) <= {"gigachat", "openai"}:
        raise ValueError("write gigachat, openai, or both with a comma between, the first one first")
    return ",".join(listed)


def _url_of(*schemes: str) -> AfterValidator:
    def check(url: SecretStr) -> SecretStr:
        if urlsplit(url.get_secret_value()).scheme not in schemes:
            raise ValueError(f"it must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
        return url

    return AfterValidator(check)


def _sites(text: str) -> str:
    sites = [site.strip().lower().removeprefix("www.").removesuffix(".") for site in text.split(",") if site.strip()]
    if any(not site or set(site) & set("/:@*? ") for site in sites):
        raise ValueError("write sites as names with commas between, like example.org,news.example; names below them are meant too")
    return ",".join(sites)


def _host_and_port(address: str) -> str:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("write it like 127.0.0.1:8013")
    return address


def _origins(text: str) -> str:
    origins = [origin.strip().removesuffix("/") for origin in text.split(",") if origin.strip()]
    if any(urlsplit(origin).scheme not in {"http", "https"} or not urlsplit(origin).netloc or urlsplit(origin).path for origin in origins):
        raise ValueError("write sites like https://desk.example, with commas between and without a path; * will not do")
    return ",".join(origins)


def session_keys(text: str) -> tuple[bytes, ...]:
    """The keys in SESSION_ENCRYPTION_KEY, the one that seals first. ValueError where one of them is no key."""
    try:
        keys = [base64.b64decode(part.strip(), altchars=b"-_", validate=True) for part in text.split(",") if part.strip()]
    except ValueError:
        keys = [b""]
    if any(len(key) != SESSION_KEY_BYTES for key in keys):
        raise ValueError("this is no key; set it to what `tga accounts key` prints, and keep a copy of it")
    return tuple(keys)


def _session_keys(text: SecretStr) -> SecretStr:
    session_keys(text.get_secret_value())
    return text


def _host_names(text: str) -> str:
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if any(set(name) & set("/:@*? ") for name in names):
        raise ValueError("write names with commas between and without ports, like telethon-ingest,desk.example; * will not do")
    return ",".join(names)


PostgresUrl = Annotated[SecretStr, _url_of("postgresql", "postgres")]
RedisUrl = Annotated[SecretStr, _url_of("redis", "rediss")]
Port = Annotated[int, Field(ge=0, le=65535)]


class LogLevel(StrEnum):
    """How much is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class ModeOverride(StrEnum):
    """What an operator may fix for all channels."""

    AUTO = "auto"
    HISTORICAL = "historical"
    INCREMENTAL = "incremental"


class SchedulerPolicy(StrEnum):
    """How it is decided which channel is read next."""

    FRESH = "fresh"
    CLASSIC = "classic"


class ProxyType(StrEnum):
    """How a proxy is spoken to."""

    SOCKS5 = "socks5"
    SOCKS4 = "socks4"
    HTTP = "http"


class EmbeddingSource(StrEnum):
    """Who turns texts into vectors. One for the whole installation: vectors of two models cannot be compared."""

    LOCAL = "local"
    GIGACHAT = "gigachat"
    OPENAI = "openai"


class GigaChatScope(StrEnum):
    """What kind of customer the key belongs to."""

    PERSON = "GIGACHAT_API_PERS"
    COMPANY_PREPAID = "GIGACHAT_API_B2B"
    COMPANY_POSTPAID = "GIGACHAT_API_CORP"


class SettingsGroup(BaseModel):
    """Settings that belong together. Wrong values are never repeated in errors: they may be secrets."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class DatabaseLogin(StrEnum):
    """Who connects to PostgreSQL. Each may have a login of its own, or all share one."""

    API = "api"
    SYSTEM = "system"
    INGEST = "ingest"

    @property
    def variable(self) -> str:
        """The name of the setting that holds its address."""
        return "DATABASE_URL" if self is DatabaseLogin.API else f"DATABASE_{self.name}_URL"


class DatabaseSettings(SettingsGroup):
    """PostgreSQL: the log and the truth."""

    url: PostgresUrl = variable(
        "DATABASE_URL",
        help="PostgreSQL, for requests. The login must be a plain one: no superuser, no owner. A session-pooled or direct port.",
    )
    system_url: PostgresUrl | None = variable(
        "DATABASE_SYSTEM_URL",
        None,
        help="The same database with the login of the worker and of periodic jobs, which sees every tenant. Empty: DATABASE_URL.",
    )
    ingest_url: PostgresUrl | None = variable(
        "DATABASE_INGEST_URL",
        None,
        help="The same database with the login of ingest, which alone reads sessions. Empty: DATABASE_SYSTEM_URL.",
    )
    admin_url: PostgresUrl | None = variable(
        "DATABASE_ADMIN_URL",
        None,
        help="PostgreSQL as somebody who may create roles and tables. Used by `tga migrate` only; DATABASE_URL when empty.",
    )
    pool_size: int = variable("DATABASE_POOL_SIZE", 10, help="Connections that one process may hold with each login.", ge=1, le=1000)

    def url_of(self, login: DatabaseLogin) -> SecretStr:
        """The address with this login; a login that is not set is the one before it."""
        system_url = self.system_url or self.url
        return {DatabaseLogin.API: self.url, DatabaseLogin.SYSTEM: system_url, DatabaseLogin.INGEST: self.ingest_url or system_url}[login]

    def name_of(self, login: DatabaseLogin) -> str:
        """The database user of this login."""
        return unquote(urlsplit(self.url_of(login).get_secret_value()).username or "")

    @property
    def separates_system(self) -> bool:
        """Whether requests have a login that is not the worker's."""
        return self.name_of(DatabaseLogin.API) != self.name_of(DatabaseLogin.SYSTEM)


class RedisSettings(SettingsGroup):
    """Redis: delivery, leases, caches."""

    url: RedisUrl = variable("REDIS_URL", help="Redis 7 or newer, with appendonly on and maxmemory-policy noeviction.")


class TelegramSettings(SettingsGroup):
    """The account that reads."""

    api_id: int = variable("TELEGRAM_API_ID", 0, help="Your application's number, from my.telegram.org.", ge=0)
    api_hash: SecretStr = variable("TELEGRAM_API_HASH", SecretStr(""), help="Its hash.")
    session_string: SecretStr = variable(
        "TELEGRAM_SESSION_STRING", SecretStr(""), help="Telethon's session of an account; it is taken over once, then ignored."
    )
    encryption_key: Annotated[SecretStr, AfterValidator(_session_keys)] = variable(
        "SESSION_ENCRYPTION_KEY",
        SecretStr(""),
        help="Key that sessions are kept under, from `tga accounts key`. To change it, put the new one in front, with a comma between.",
    )
    proxy_addr: str = variable("TELEGRAM_PROXY_ADDR", "", help="Proxy to reach Telegram through. Empty: no proxy.")
    proxy_port: Port = variable("TELEGRAM_PROXY_PORT", 1080, help="Its port.")
    proxy_type: ProxyType = variable("TELEGRAM_PROXY_TYPE", ProxyType.SOCKS5, help="socks5, socks4 or http.")
    proxy_username: str = variable("TELEGRAM_PROXY_USERNAME", "", help="Its user, if it asks for one.")
    proxy_password: SecretStr = variable("TELEGRAM_PROXY_PASSWORD", SecretStr(""), help="The user's password.")
    dc_addr: Annotated[str, AfterValidator(_ipv4)] = variable("TELEGRAM_DC_ADDR", "", help="IPv4 address of a simulator. Empty: Telegram itself.")
    dc_port: Port = variable("TELEGRAM_DC_PORT", 443, help="Its port.")
    dc_public_key: str = variable(
        "TELEGRAM_DC_PUBLIC_KEY", "", help="Its public key (PEM), for logging in there; TELEGRAM_DC_PUBLIC_KEY_FILE is easier. Empty: Telegram's own."
    )


class ParserSettings(SettingsGroup):
    """How channels are followed."""

    incremental: bool = variable(
        "FEATURE_INCREMENTAL_PARSING_ENABLED", default=True, help="false: every run reads its whole window again (PARSER_HISTORICAL_HOURS)."
    )
    adaptive: bool = variable(
        "FEATURE_ADAPTIVE_THRESHOLDS_ENABLED", default=True, help="false: silence is worth a look after 1 hour, and runs overlap by 5 minutes."
    )
    mode: ModeOverride = variable("PARSER_MODE_OVERRIDE", ModeOverride.AUTO, help="auto, historical or incremental, for all channels.")
    interval_seconds: int = variable(
        "PARSER_SCHEDULER_INTERVAL_SEC", 300, help="Seconds between two plans; with the classic policy also between two polls.", ge=1
    )
    policy: SchedulerPolicy = variable(
        "PARSER_SCHEDULER_POLICY", SchedulerPolicy.FRESH, help="fresh: lively channels are read more often. classic: all of them at every tick."
    )
    concurrency: int = variable(
        "PARSER_MAX_CONCURRENCY", 4, help="Channels read at once by one process. An account reads one at a time.", ge=1, le=1000
    )
    attempts: int = variable("PARSER_RETRY_MAX", 3, help="Attempts in all, per channel and run. What Telegram asks to wait for uses none.", ge=1)
    historical_hours: int = variable("PARSER_HISTORICAL_HOURS", 24, help="What a historical run reads at least.", ge=1)
    window_days: int = variable("PARSER_STATS_WINDOW_DAYS", 14, help="How many days of posts tell how silent a channel usually is.", ge=1)
    max_age_hours: int = variable(
        "LPA_MAX_AGE_HOURS",
        48,
        also="PARSER_LPA_MAX_AGE_HOURS",
        help="A channel that was not read for so long is read in historical mode.",
        ge=1,
    )
    joins_per_day: int = variable(
        "PUSH_JOINS_PER_DAY",
        0,
        help="Lively public channels that each account may join per day, to be told of their posts within a second. "
        "The account's owner sees them in the list of chats, so 0: none.",
        ge=0,
        le=20,
    )
    quiet_zone: Annotated[str, AfterValidator(known_zone)] = variable(
        "QUIET_HOURS_TZ", "Europe/Moscow", help="Zone of night and weekend, when silence is usual."
    )


class PreviewSettings(SettingsGroup):
    """Public previews: what t.me shows of a channel to who has no account."""

    enabled: bool = variable(
        "PREVIEWS_ENABLED", default=False, help="true: public channels that no account can open are read by their preview pages, newest posts only."
    )
    url: Annotated[str, AfterValidator(_web_address)] = variable("PREVIEWS_URL", "https://t.me", help="Where the pages are; a simulator's for tests.")


class StreamSettings(SettingsGroup):
    """How events travel."""

    partitions: int = variable(
        "STREAM_PARTITIONS",
        1,
        help="Streams per event, split by channel. Change it only while the streams are empty; then run `tga streams refill`.",
        ge=1,
        le=1024,
    )
    max_entries: int = variable(
        "STREAM_MAX_ENTRIES", 200_000, help="Above so many entries in one stream posts wait in PostgreSQL, and health names the slow stage.", ge=1
    )


class FilesSettings(SettingsGroup):
    """Media: in S3, or in a folder when S3_ENDPOINT is empty."""

    endpoint: str = variable("S3_ENDPOINT", "", help="Address of the S3 server, with http:// or https://. Empty: media go to FILES_DIR.")
    region: str = variable("S3_REGION", "us-east-1", help="Region that requests are signed for.")
    bucket: str = variable("S3_BUCKET", "", help="Bucket that holds the media.")
    access_key_id: SecretStr = variable("S3_ACCESS_KEY_ID", SecretStr(""), help="Key of the S3 server.")
    secret_access_key: SecretStr = variable("S3_SECRET_ACCESS_KEY", SecretStr(""), help="Its secret.")
    force_path_style: bool = variable(
        "S3_FORCE_PATH_STYLE",
        default=True,
        help="true: http://server/bucket/file, as most self-hosted servers want it. false: http://bucket.server/file.",
    )
    folder: Path | None = variable("FILES_DIR", None, help="Folder for media when S3_ENDPOINT is empty. Neither: no media are kept.")
    max_bytes: int = variable("MEDIA_MAX_BYTES", 20 * 1024 * 1024, help="Larger files of posts are not fetched.", ge=1)
    quota_bytes: int = variable("MEDIA_QUOTA_BYTES", 0, help="How much media a tenant may keep, unless it has a quota of its own. 0: no limit.", ge=0)
    spool: Path | None = variable(
        "MEDIA_SPOOL_DIR", None, help="Folder for files on their way, kept over a restart if one likes. Empty: a folder beside other temporary files."
    )


class CrawlSettings(SettingsGroup):
    """Reading the pages that posts link to."""

    enabled: bool = variable("CRAWL_ENABLED", default=True, help="false: no linked page is read; posts go on without.")
    allow: Annotated[str, AfterValidator(_sites)] = variable(
        "CRAWL_ALLOW", "", help="Only these sites are read, with commas between; names below them too. Empty: every site that is worth it."
    )
    deny: Annotated[str, AfterValidator(_sites)] = variable("CRAWL_DENY", "", help="These sites are never read.")
    max_links: int = variable("CRAWL_MAX_LINKS", 3, help="So many links of one post are read at most.", ge=1, le=20)
    max_bytes: int = variable("CRAWL_MAX_BYTES", 3_000_000, help="A page that is larger, packed or unpacked, is not read.", ge=1)
    max_seconds: float = variable(
        "CRAWL_TIMEOUT_SECONDS", 10.0, help="How long a post waits for its linked pages; then it goes on without them.", gt=0, le=60
    )
    every_seconds: float = variable(
        "CRAWL_SITE_INTERVAL_SECONDS", 1.0, help="Seconds between two requests to one site, by all processes; its robots.txt may ask for more.", ge=0
    )
    crawler_address: Annotated[str, AfterValidator(_host_and_port)] = variable(
        "CRAWLER_ADDRESS", "", help="host:port of the process with the browser, here and there. Empty: pages that need a browser are not read."
    )
    browser_path: str = variable("BROWSER_PATH", "chromium", help="Chromium, for the process with the browser.")


class GraphSettings(SettingsGroup):
    """Neo4j: who forwards whom. Optional."""

    uri: str = variable("NEO4J_URI", "", help="Neo4j, like bolt://host:7687. Empty: the graph is off.")
    user: str = variable("NEO4J_USER", "neo4j", help="Its user.")
    password: SecretStr = variable("NEO4J_PASSWORD", SecretStr(""), help="Its password.")


class VectorSettings(SettingsGroup):
    """Qdrant: posts by their meaning. A server, or embedded when QDRANT_URL is empty. Optional."""

    url: Annotated[str, AfterValidator(_web_address)] = variable(
        "QDRANT_URL", "", help="Qdrant server, like http://host:6333; needed when worker and api are separate processes. Empty: VECTORS_DIR."
    )
    api_key: SecretStr = variable("QDRANT_API_KEY", SecretStr(""), help="Its key, if it asks for one.")
    collection_prefix: Annotated[str, AfterValidator(_collection_prefix)] = variable(
        "QDRANT_COLLECTION_PREFIX",
        "",
        help="Put before the name of every collection, so that several installations can share one Qdrant server, like acme-.",
    )
    folder: Path | None = variable(
        "VECTORS_DIR", None, help="Folder for vectors when QDRANT_URL is empty, for one process at a time. Neither: posts are found by words only."
    )


class GigaChatSettings(SettingsGroup):
    """GigaChat, a provider of chat, vision and embeddings. Optional."""

    credentials: SecretStr = variable("GIGACHAT_CREDENTIALS", SecretStr(""), help="Authorization key of a GigaChat project. Empty: GigaChat is off.")
    scope: GigaChatScope = variable(
        "GIGACHAT_SCOPE", GigaChatScope.PERSON, help="GIGACHAT_API_PERS (a person), GIGACHAT_API_B2B (prepaid) or GIGACHAT_API_CORP (postpaid)."
    )
    model: str = variable("GIGACHAT_MODEL", "GigaChat-2", help="Model for texts.")
    vision_model: str = variable("GIGACHAT_VISION_MODEL", "GigaChat-2-Pro", help="Model for pictures; Lite models cannot see.")
    ca_bundle_file: Path | None = variable(
        "GIGACHAT_CA_BUNDLE_FILE", None, help="Certificates of the Russian Trusted Root CA (PEM), which GigaChat's are signed by. Always verified."
    )
    base_url: str = variable("GIGACHAT_BASE_URL", "https://api.giga.chat/v1", help="Address of its API.")
    auth_url: str = variable("GIGACHAT_AUTH_URL", "https://ngw.devices.sberbank.ru:9443/api/v2/oauth", help="Address that gives out tokens.")
    streams: int = variable(
        "GIGACHAT_STREAMS", 0, help="Calls at once, of all processes together. 0: 1 for a person, 10 for a company.", ge=0, le=1000
    )
    per_minute: int = variable("GIGACHAT_REQUESTS_PER_MINUTE", 0, help="Calls a minute, of all processes together. 0: no limit.", ge=0)

    @property
    def streams_in_force(self) -> int:
        """What Sber grants to the kind of customer, unless told otherwise."""
        return self.streams or (1 if self.scope is GigaChatScope.PERSON else 10)


class OpenAiSettings(SettingsGroup):
    """Any server that speaks OpenAI's protocol: OpenAI, vLLM, Ollama, llama.cpp. Optional."""

    base_url: str = variable("OPENAI_BASE_URL", "", help="Address of its API, with /v1. Empty: OpenAI itself, if a key is set.")
    api_key: SecretStr = variable(
        "OPENAI_API_KEY", SecretStr(""), help="Its key; servers of one's own need none. Neither address nor key: it is off."
    )
    model: str = variable("OPENAI_MODEL", "gpt-4o-mini", help="Model for texts.")
    vision_model: str = variable("OPENAI_VISION_MODEL", "", help="Model for pictures. Empty: OPENAI_MODEL.")
    streams: int = variable("OPENAI_STREAMS", 4, help="Calls at once, of all processes together.", ge=1, le=1000)
    per_minute: int = variable("OPENAI_REQUESTS_PER_MINUTE", 0, help="Calls a minute, of all processes together. 0: no limit.", ge=0)


class AiSettings(SettingsGroup):
    """How posts are understood. Without a provider it is done on this machine."""

    providers: Annotated[str, AfterValidator(_known_providers)] = variable(
        "AI_PROVIDERS", "gigachat,openai", help="Which provider is asked first, which next. Those without a key are left out."
    )
    embeddings: EmbeddingSource = variable("AI_EMBEDDINGS", EmbeddingSource.LOCAL, help="Who makes vectors: local, gigachat or openai.")
    embeddings_model: str = variable(
        "AI_EMBEDDINGS_MODEL",
        "",
        help="Model for vectors. Empty: intfloat/multilingual-e5-small (local), Embeddings (gigachat), text-embedding-3-small (openai).",
    )
    prices: Path | None = variable(
        "AI_PRICES_FILE", None, help="Your tariff, in the form of ai/prices.toml. Empty: the list that came with the program."
    )
    models: Path = variable("MODELS_DIR", Path("models"), help="Folder of sentence models for AI_EMBEDDINGS=local; `tga models pull` fills it.")
    hub_url: str = variable("MODELS_HUB_URL", "https://huggingface.co", help="Where `tga models pull` fetches models from.")

    @property
    def embeddings_model_in_force(self) -> str:
        """The one model that vectors of this installation are made by."""
        usual = {
            EmbeddingSource.LOCAL: "intfloat/multilingual-e5-small",
            EmbeddingSource.GIGACHAT: "Embeddings",
            EmbeddingSource.OPENAI: "text-embedding-3-small",
        }
        return self.embeddings_model or usual[self.embeddings]


class HttpSettings(SettingsGroup):
    """Where each role answers."""

    host: str = variable("HTTP_HOST", "127.0.0.1", help="Address to listen on. 0.0.0.0 in a container; then set OPERATOR_KEY.")
    ingest_port: Port = variable("INGEST_PORT", 8011, help="Port of the ingest role.")
    worker_port: Port = variable("WORKER_PORT", 8012, help="Port of the worker role.")
    api_port: Port = variable("API_PORT", 8000, help="Port of the api role.")
    operator_key: SecretStr = variable(
        "OPERATOR_KEY",
        SecretStr(""),
        help="The operator's key for /api/v1, health details, metrics and reading a channel at once (Authorization: Bearer KEY); "
        "`tga keys operator` makes one. Empty: there is none, and health details and metrics answer this machine only.",
    )
    allowed_hosts: Annotated[str, AfterValidator(_host_names)] = variable(
        "ALLOWED_HOSTS",
        "",
        help="Names, with commas between, under which health details, metrics and reading a channel at once may be asked for, "
        "beside localhost and the address itself. Others are refused.",
    )
    request_timeout_seconds: float = variable(
        "HTTP_REQUEST_TIMEOUT_SECONDS",
        10.0,
        help="A client has so long to send the headers of a request, then as long for its body; after that its connection is closed.",
        gt=0,
        le=600,
    )
    operations_host: str = variable("OPERATIONS_HOST", "", help="Address to listen on for the three ports below. Empty: HTTP_HOST.")
    ingest_operations_port: Port | None = variable(
        "INGEST_OPERATIONS_PORT",
        None,
        help="Port for health details, metrics and reading a channel at once of the ingest role; then INGEST_PORT does not answer them. "
        "Empty: INGEST_PORT.",
    )
    worker_operations_port: Port | None = variable(
        "WORKER_OPERATIONS_PORT", None, help="Port for health details and metrics of the worker role. Empty: WORKER_PORT."
    )
    api_operations_port: Port | None = variable(
        "API_OPERATIONS_PORT", None, help="Port for health details and metrics of the api role, so that API_PORT can be public. Empty: API_PORT."
    )


class ApiSettings(SettingsGroup):
    """What /api/v1 allows."""

    per_minute: int = variable("API_REQUESTS_PER_MINUTE", 600, help="Requests that a key may make a minute, over all processes.", ge=1, le=10**6)
    burst: int = variable("API_REQUESTS_AT_ONCE", 120, help="So many of them may come at once.", ge=1, le=10**6)
    tenant_per_minute: int = variable(
        "API_TENANT_REQUESTS_PER_MINUTE", 1200, help="Requests that all keys of a tenant may make a minute together.", ge=1, le=10**6
    )
    tenant_burst: int = variable("API_TENANT_REQUESTS_AT_ONCE", 240, help="So many of them may come at once.", ge=1, le=10**6)
    timeout_seconds: float = variable("API_TIMEOUT_SECONDS", 15.0, help="A request that takes longer is answered with 503.", gt=0, le=600)
    max_bytes: int = variable("API_MAX_BODY_BYTES", 1_000_000, help="A larger request is refused.", ge=1)
    cors_origins: Annotated[str, AfterValidator(_origins)] = variable(
        "API_CORS_ORIGINS", "", help="Sites whose pages may ask from a browser, like https://desk.example, with commas between. Empty: none."
    )


class TelemetrySettings(SettingsGroup):
    """Logs, metrics, traces."""

    log_level: LogLevel = variable("LOG_LEVEL", LogLevel.INFO, help="debug, info, warning or error.")
    time_zone: Annotated[str, AfterValidator(known_zone)] = variable(
        "TZ", "UTC", help="Zone in which a terminal prints times. Everything stored is UTC."
    )
    traces_endpoint: str = variable("OTEL_EXPORTER_OTLP_ENDPOINT", "", help="OpenTelemetry collector (OTLP over HTTP). Empty: no traces are sent.")
    max_channel_series: int = variable(
        "METRICS_MAX_CHANNELS", 1000, help="Channels with metric series of their own; beyond it only the worst are shown.", ge=1
    )


class ProcessSettings(SettingsGroup):
    """This process."""

    host_name: str = variable("HOSTNAME", "", help="Name of this instance in health, locks and consumer names. Empty: the host's name.")
    shutdown_grace_seconds: float = variable(
        "SHUTDOWN_GRACE_SECONDS", 20.0, help="How long work in hand may take to finish after SIGTERM.", ge=0, le=3600
    )

    @property
    def instance_name(self) -> str:
        """What people call this instance."""
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
    telemetry: TelemetrySettings
    process: ProcessSettings


@dataclass(frozen=True, slots=True)
class Variable:
    """One environment variable, as a person meets it."""

    name: str
    group: str
    field: str
    about: str
    default: str
    required: bool
    secret: bool
    also: str


def variables() -> Iterator[Variable]:
    """Every variable that this version knows, in the order of `.env.example`."""
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
    """Build the settings, or raise SettingsError with every problem found."""
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
    """Only these settings, for a command that needs no others."""
    problems: list[str] = []
    values = {name: value for name, field in group.model_fields.items() if (value := _value_of(field, environ, problems))}
    if not problems:
        try:
            return group.model_validate(values)
        except ValidationError as error:
            problems += _in_words(group, error)
    raise SettingsError(problems)


def unknown_names(environ: Mapping[str, str], *, in_file: Collection[str] = ()) -> list[str]:
    """Sentences about names that look like ours and are not known, so that a typing error is not silent.

    `in_file`: names from `.env`. There one that resembles a name of ours is a mistake; what else is exported may be for other programs.
    """
    names = [known.name for known in variables()]
    spelled = [*names, *(known.also for known in variables() if known.also)]
    known_names = {*spelled, *(f"{name}_FILE" for name in spelled)}
    sentences = []
    for name in sorted({*environ, *in_file} - known_names):
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.8)
        if name.startswith(OURS) or (name in in_file and near):
            hint = f"; did you mean {near[0]}?" if near else ""
            sentences.append(f"{name} is not known to this version and has no effect{hint}")
    return sentences


def effective(settings: Settings) -> Iterator[tuple[Variable, str]]:
    """Each variable with the value in force, secrets hidden."""
    for known in variables():
        value = getattr(getattr(settings, known.group), known.field)
        yield known, _hidden(value) if known.secret else plain(value)


def location_of(url: SecretStr) -> str:
    """The address without user and password, for people and logs."""
    parts = urlsplit(url.get_secret_value())
    host = parts.hostname or ""
    return f"{host}:{parts.port}{parts.path}" if parts.port else f"{host}{parts.path}"


def plain(value: object) -> str:
    """A value as one would write it in the environment."""
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _hidden(value: SecretStr | None) -> str:
    if value is None or not value.get_secret_value():
        return ""
    parts = urlsplit(value.get_secret_value())
    if parts.scheme and parts.hostname:
        user = f"{parts.username}:{HIDDEN}@" if parts.password else f"{parts.username}@" if parts.username else ""
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
            problems.append(f"{name}_FILE cannot be read: {getattr(error, 'strerror', None) or 'it is no text'}")
    return value


def _in_words(group: type[SettingsGroup], error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        name = _name_of(group.model_fields[str(problem["loc"][0])])
        why = "is required" if problem["type"] == "missing" else f"is wrong: {problem['msg'].removeprefix('Value error, ')}"
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
