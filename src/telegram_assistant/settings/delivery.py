"""Delivery of alerts and digests: mail, webhooks, and where they may go."""

import re
from enum import StrEnum
from ipaddress import IPv6Address, ip_network
from typing import Annotated

from pydantic import BeforeValidator, SecretStr

from telegram_assistant.settings.declaring import MAX_PORT, Port, SettingsGroup, split, variable


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
        return tuple(canonical(entry) for entry in split(text))
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
        return tuple(canonical(entry) for entry in split(text))
    except ValueError as error:
        raise ValueError(
            "write networks separated by commas, each with its port if that is not 80 or 443, "
            "like 192.168.1.0/24:8123"
        ) from error


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
    """The hosts and networks that webhooks may reach beside the public web, for all tenants.

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
