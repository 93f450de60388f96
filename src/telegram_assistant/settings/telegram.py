"""The connection to Telegram, and the keys of sessions."""

import base64
from enum import StrEnum
from ipaddress import IPv4Address
from typing import Annotated

from pydantic import AfterValidator, SecretStr

from telegram_assistant.settings.declaring import Port, SettingsGroup, variable

SESSION_KEY_BYTES = 32


def _ipv4(address: str) -> str:
    try:
        return str(IPv4Address(address))
    except ValueError as error:
        raise ValueError("not an IPv4 address; host names are not accepted") from error


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


class ProxyType(StrEnum):
    """The protocol of a proxy."""

    SOCKS5 = "socks5"
    SOCKS4 = "socks4"
    HTTP = "http"


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
