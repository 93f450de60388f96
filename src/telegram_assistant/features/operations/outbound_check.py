"""The check of what the operator has opened for webhooks."""

from collections.abc import Iterator
from ipaddress import ip_network

from telegram_assistant.domain.operations.diagnosis import Finding, off, ok, warning
from telegram_assistant.outbound.addresses import as_address
from telegram_assistant.outbound.openings import Openings, parse_host, parse_network, read_openings
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import Settings

SUBJECT = "webhooks"
LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
MIN_PREFIX_LENGTH = {4: 8, 6: 7}
"""Of the widest private networks: 10.0.0.0/8 and fc00::/7."""


def examine(settings: Settings) -> list[Finding]:
    """One line says what is opened.

    A warning follows for each entry that opens this machine, half the internet, or nothing.
    """
    hosts, networks = settings.outbound.hosts, settings.outbound.networks
    if not hosts and not networks:
        return [off(SUBJECT, Reason("outbound_closed", "webhooks can reach only the public web"))]
    opened_reason = Reason(
        "outbound_opened",
        "webhooks of every tenant can reach the public web and {targets}",
        targets=", ".join((*hosts, *networks)),
    )
    return [ok(SUBJECT, opened_reason), *_doubts(settings, read_openings(settings))]


def _doubts(settings: Settings, openings: Openings) -> Iterator[Finding]:
    for entry in settings.outbound.hosts:
        host, port = parse_host(entry)[0]
        address = as_address(host)
        if openings.is_own_name(host, port):
            yield _opens_nothing(entry)
        elif host == "localhost" or (address is not None and any(address in network for network in LOOPBACK)):
            yield _opens_this_machine(entry)
    for entry in settings.outbound.networks:
        network, port = parse_network(entry)[0]
        if openings.is_own_port(port):
            yield _opens_nothing(entry)
        elif network.prefixlen < MIN_PREFIX_LENGTH[network.version]:
            reason = Reason(
                "outbound_too_wide", "{entry} opens more than one network to every tenant", entry=entry
            )
            yield warning(
                SUBJECT,
                reason,
                remedy=Reason("narrow_outbound_network", "name the networks or hosts of your receivers only"),
            )
        elif any(network.version == loopback.version and network.overlaps(loopback) for loopback in LOOPBACK):
            yield _opens_this_machine(entry)


def _opens_this_machine(entry: str) -> Finding:
    reason = Reason(
        "outbound_loopback", "{entry} opens programs on this machine to every tenant", entry=entry
    )
    remedy = Reason(
        "check_outbound_loopback",
        "make sure that nothing at this address and port trusts requests just because they come from this "
        "machine",
    )
    return warning(SUBJECT, reason, remedy=remedy)


def _opens_nothing(entry: str) -> Finding:
    reason = Reason(
        "outbound_without_effect",
        "{entry} opens nothing: a server of this installation uses this host or port",
        entry=entry,
    )
    remedy = Reason(
        "name_outbound_host",
        "name the receiver with its host and port in OUTBOUND_ALLOWED_HOSTS, or give it another port",
    )
    return warning(SUBJECT, reason, remedy=remedy)
