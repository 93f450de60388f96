"""Decides which addresses may be connected to: those of the public web and, for webhooks, those that the
operator has opened.

A name is resolved, every answer is checked, and the connection goes to a checked address itself. Nothing is
resolved twice, so no name can change between the check and the connection.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address
from urllib.parse import quote, urlsplit

from telegram_assistant.domain.posts.links import MAX_URL_LENGTH
from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.outbound.addresses import Address, Network, as_address, is_forbidden, is_public
from telegram_assistant.outbound.openings import Openings, read_openings
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import Settings

type Resolve = Callable[[str], Awaitable[Sequence[str]]]

PORTS = {"http": 80, "https": 443}
RESOLVE_SECONDS = 5.0
MAX_HOST_LENGTH = 253

LOCAL_NAMES = (
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
    "in-addr.arpa",
    "ip6.arpa",
    "onion",
)
"""Names that have a meaning in private networks only, with all their subdomains."""

_HOST = re.compile(r"(?!-)[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_NUMBER = re.compile(r"(\d+|0x[0-9a-f]*)")
_ODD_CHARACTERS = re.compile(r"[\x00-\x20\x7f\\]")


@dataclass(frozen=True, slots=True)
class Target:
    """The destination of a request. The URL is parsed once and never again."""

    scheme: str
    host: str
    """A name as in DNS, or an address without brackets."""
    port: int
    path: str
    """Includes the query."""

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if PORTS[self.scheme] == self.port else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


async def resolve_host(host: str) -> Sequence[str]:
    answers = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in answers))


@dataclass(frozen=True, slots=True)
class Guard:
    """Decides where a request may go.

    Everything that opens a connection for an untrusted link asks it first.
    """

    resolve: Resolve = resolve_host
    ports: frozenset[int] = frozenset(PORTS.values())
    although_private: tuple[Network, ...] = ()
    """Private networks that may be reached nevertheless: for tests that simulate the web on this machine.

    No setting leads here.
    """
    openings: Openings | None = None
    """Servers that the operator has opened beside the public web. None for links, which strangers write."""

    def target(self, url: str) -> Target:
        """Parse a URL. Raises Unreadable unless it is http or https without a user and odd characters, and
        its host and port may be reached.

        No name is resolved here, so the answer says nothing about which names exist.
        """
        if len(url) > MAX_URL_LENGTH or _ODD_CHARACTERS.search(url):
            raise _blocked_error(
                Reason("page_url_characters", "the URL is too long or contains invalid characters")
            )
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise _blocked_error(Reason("page_url_invalid", "the URL is invalid")) from error
        if parts.scheme not in PORTS:
            raise _blocked_error(
                Reason(
                    "page_scheme_not_supported",
                    "only http and https are supported, not {scheme!r}",
                    scheme=parts.scheme[:20],
                )
            )
        if "@" in parts.netloc:
            raise _blocked_error(Reason("page_url_has_user", "the URL contains a user name"))
        target = Target(
            parts.scheme,
            canonical_host(parts.hostname or ""),
            PORTS[parts.scheme] if port is None else port,
            quote(parts.path or "/", safe="/%!$&'()*+,;=:@~-._")
            + (f"?{quote(parts.query, safe="/?%!$&'()*+,;=:@~-._[]")}" if parts.query else ""),
        )
        self._check_host(target.host, target.port)
        return target

    async def addresses(self, host: str, port: int) -> tuple[Address, ...]:
        """Return the addresses to connect to for this name.

        Raises Unreadable unless each of them may be reached.
        """
        host = canonical_host(host)
        self._check_host(host, port)
        literal = as_address(host)
        if literal is not None:
            addresses: tuple[Address, ...] = (literal,)
        elif self.openings is None or self.openings.opens_host(host, port):
            addresses = await self._resolve_checked(host)
            self._check_addresses(host, port, addresses)
        else:
            addresses = await self._resolve_discreetly(host, port)
        if self.openings is not None:
            await self._refuse_own_servers(self.openings, port, addresses)
        return addresses

    async def _resolve_checked(self, host: str) -> tuple[Address, ...]:
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                addresses = tuple(ip_address(answer) for answer in await self.resolve(host))
        except (OSError, TimeoutError, UnicodeError, ValueError) as error:
            raise Unreadable(
                PageStatus.FAILED,
                Reason("page_host_not_resolved", "the host {host} cannot be resolved", host=host),
            ) from error
        if not addresses:
            raise Unreadable(
                PageStatus.FAILED,
                Reason("page_host_without_address", "the host {host} has no IP address", host=host),
            )
        return addresses

    async def _resolve_discreetly(self, host: str, port: int) -> tuple[Address, ...]:
        """Resolve a name for a tenant.

        The refusal does not tell whether the name exists in the operator's network.
        """
        try:
            addresses = await self._resolve_checked(host)
            self._check_addresses(host, port, addresses)
        except Unreadable as error:
            if error.reason.code == _OUTBOUND_NEVER.code:
                raise
            reason = Reason(
                "outbound_host_not_public",
                "the host {host} cannot be resolved, or not all of its addresses are public",
                host=host,
            )
            raise self._refusal(reason) from error
        return addresses

    def _check_host(self, host: str, port: int) -> None:
        """Check what can be checked before the name is resolved."""
        literal = as_address(host)
        if literal is not None:
            self._check_addresses(host, port, (literal,))
        elif self.openings is None or not self.openings.may_open(host, port):
            self._check_public_name(host)
            self._check_port(port)
        if self.openings is not None and self.openings.is_own_name(host, port):
            raise _blocked_error(_OUTBOUND_NEVER)

    def _check_public_name(self, name: str) -> None:
        if "." not in name:
            raise self._refusal(Reason("page_host_not_public", "the host is not on the public web"))
        if any(name == local or name.endswith(f".{local}") for local in LOCAL_NAMES):
            raise self._refusal(Reason("page_host_private_name", "the host name belongs to private networks"))

    def _check_port(self, port: int) -> None:
        if port not in self.ports:
            raise self._refusal(Reason("page_port_not_allowed", "port {port} is not allowed", port=port))

    def _check_addresses(self, host: str, port: int, addresses: Sequence[Address]) -> None:
        for address in addresses:
            if self.openings is not None and self.openings.opens_address(host, port, address):
                if is_forbidden(address):
                    raise _blocked_error(_OUTBOUND_NEVER)
                continue
            self._check_port(port)
            if not is_public(address) and not any(address in network for network in self.although_private):
                raise self._refusal(
                    Reason("page_address_not_public", "it leads to an address that is not public")
                )

    async def _refuse_own_servers(self, openings: Openings, port: int, addresses: Sequence[Address]) -> None:
        """Compare with the servers of this installation by address.

        On the public web, where one address serves many sites, names decide.
        """
        if port in PORTS.values() and all(is_public(address) for address in addresses):
            return
        own = [
            address for server in openings.own_servers_at(port) for address in await self._resolve_own(server)
        ]
        if openings.is_one_of(own, addresses):
            raise _blocked_error(_OUTBOUND_NEVER)

    async def _resolve_own(self, server: str) -> tuple[Address, ...]:
        literal = as_address(server)
        try:
            return (literal,) if literal is not None else await self._resolve_checked(server)
        except (
            Unreadable
        ) as error:  # its name is not for tenants, and without its address nothing can be compared
            reason = Reason(
                "outbound_check_failed", "it cannot be checked right now: host names cannot be resolved"
            )
            raise Unreadable(PageStatus.FAILED, reason) from error

    def _refusal(self, reason: Reason) -> Unreadable:
        """A refusal that the operator can change says so."""
        if self.openings is None:
            return _blocked_error(reason)
        return _blocked_error(
            Reason(
                "outbound_not_opened",
                "{why}; the operator of this server can allow it",
                why=reason,
            )
        )


def outbound_guard(settings: Settings, *, resolve: Resolve = resolve_host) -> Guard:
    """Build the guard of requests that tenants ask for: the public web, and what the operator has opened."""
    return Guard(resolve=resolve, openings=read_openings(settings))


def canonical_host(host: str) -> str:
    """Return the host in its one canonical form. Raises Unreadable if it has none."""
    if ":" in host:
        try:
            return str(IPv6Address(host))
        except ValueError as error:
            raise _blocked_error(Reason("page_host_invalid", "the host is invalid")) from error
    try:
        name = host.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError as error:
        raise _blocked_error(Reason("page_host_invalid", "the host is invalid")) from error
    if len(name) > MAX_HOST_LENGTH or not _HOST.fullmatch(name):
        raise _blocked_error(Reason("page_host_invalid", "the host is invalid"))
    if _NUMBER.fullmatch(name.rpartition(".")[2]) and as_address(name) is None:
        raise _blocked_error(
            Reason("page_host_unusual_address", "the host is an IP address in an unusual form")
        )
    return name


_OUTBOUND_NEVER = Reason(
    "outbound_never",
    "it leads to a server that no setting can open: one of this installation, or a cloud metadata service",
)


def _blocked_error(reason: Reason) -> Unreadable:
    return Unreadable(PageStatus.BLOCKED, reason)
