"""The pages."""

from ipaddress import ip_network
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, SecretStr

from telegram_assistant.settings.declaring import SettingsGroup, split, variable


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
        return tuple(str(ip_network(part, strict=False)) for part in split(text))
    except ValueError as error:
        raise ValueError(
            "write addresses or networks separated by commas, like 127.0.0.1,10.0.0.0/8"
        ) from error


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
