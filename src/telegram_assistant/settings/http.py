"""The ports of the roles, and the API."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BeforeValidator, SecretStr

from telegram_assistant.settings.declaring import Port, SettingsGroup, split, variable


def _split_origins(text: str) -> tuple[str, ...]:
    origins = [origin.removesuffix("/") for origin in split(text)]
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


def _split_host_names(text: str) -> tuple[str, ...]:
    names = [name.lower() for name in split(text)]
    if any(set(name) & set("/:@*? ") for name in names):
        raise ValueError(
            "write host names separated by commas and without ports, like telethon-ingest,desk.example; "
            "* is not accepted"
        )
    return tuple(names)


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
    api_processes: int = variable(
        "API_PROCESSES",
        1,
        help="Number of processes of the api role, which share API_PORT. Each uses one CPU at most, "
        "and opens connections of its own. More than one need SECRET_KEY, and no embedded vectors.",
        ge=1,
        le=64,
    )
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
        "Further processes of API_PROCESSES use the ports above it. Empty: API_PORT.",
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
