"""Decides which addresses may be connected to: those of the public web only.

A name is resolved, every answer is checked, and the connection goes to a checked address itself. Nothing is resolved
twice, so no name can change between the check and the connection.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import quote, urlsplit

from telegram_assistant.domain.posts.links import MAX_URL_LENGTH
from telegram_assistant.domain.understanding.pages import PageStatus, Unreadable
from telegram_assistant.reasons import Reason

type Address = IPv4Address | IPv6Address
type Network = IPv4Network | IPv6Network
type Resolve = Callable[[str], Awaitable[Sequence[str]]]

PORTS = {"http": 80, "https": 443}
RESOLVE_SECONDS = 5.0
MAX_HOST_LENGTH = 253

NOT_PUBLIC = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this host
        "10.0.0.0/8",
        "100.64.0.0/10",  # behind a carrier; Alibaba's metadata
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's own service, in the midst of public addresses
        "169.254.0.0/16",  # link-local; metadata of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
GLOBAL_UNICAST = IPv6Network("2000::/3")
NOT_PUBLIC_6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",
        "2002::/16",  # 6to4 carries an IPv4 address inside
        "3ffe::/16",  # given back
        "3fff::/20",
    )
)
NAT64 = IPv6Network("64:ff9b::/96")
ISATAP = re.compile(r"^(0000|0200):5efe$")

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

_HOST = re.compile(r"(?!-)[a-z0-9_-]+(\.[a-z0-9_-]+)+")
_NUMBER = re.compile(r"(\d+|0x[0-9a-f]*)")
_ODD = re.compile(r"[\x00-\x20\x7f\\]")


def is_public(address: Address) -> bool:
    """Tell whether this is an address of the public web, however it is wrapped."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NOT_PUBLIC)
    if address.scope_id is not None:
        return False
    if address in NAT64:  # an IPv4 address as seen from a network without IPv4: the embedded address decides
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    if ISATAP.match(":".join(address.exploded.split(":")[4:6])):
        return False
    return address in GLOBAL_UNICAST and not any(address in network for network in NOT_PUBLIC_6)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes. The URL is parsed once and never again."""

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
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(answer[4][0]) for answer in found))


@dataclass(frozen=True, slots=True)
class Guard:
    """Decides where a request may go. Everything that opens a connection for an untrusted link asks it first."""

    resolve: Resolve = resolve_host
    ports: frozenset[int] = frozenset(PORTS.values())
    although_private: tuple[Network, ...] = ()
    """Private networks that may be reached nevertheless: for tests that simulate the web on this machine. No setting leads here."""

    def target(self, url: str) -> Target:
        """Parse a URL. Raises Unreadable unless it is http or https without a user, odd characters or other ports."""
        if len(url) > MAX_URL_LENGTH or _ODD.search(url):
            raise _blocked(Reason("page_url_characters", "the URL is too long or contains invalid characters"))
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise _blocked(Reason("page_url_invalid", "the URL is invalid")) from error
        if parts.scheme not in PORTS:
            raise _blocked(Reason("page_scheme_not_supported", "only http and https are supported, not {scheme!r}", scheme=parts.scheme[:20]))
        if "@" in parts.netloc:
            raise _blocked(Reason("page_url_has_user", "the URL contains a user name"))
        target = Target(
            parts.scheme,
            canonical_host(parts.hostname or ""),
            PORTS[parts.scheme] if port is None else port,
            quote(parts.path or "/", safe="/%!$&'()*+,;=:@~-._") + (f"?{quote(parts.query, safe="/?%!$&'()*+,;=:@~-._[]")}" if parts.query else ""),
        )
        self._check_port(target.port)
        literal = _as_address(target.host)
        if literal is not None:
            self._check_address(literal)
        return target

    async def addresses(self, host: str, port: int) -> tuple[Address, ...]:
        """Return the addresses to connect to for this name. Raises Unreadable unless all of them are public."""
        self._check_port(port)
        host = canonical_host(host)
        literal = _as_address(host)
        found = (literal,) if literal is not None else await self._resolve_checked(host)
        for address in found:
            self._check_address(address)
        return found

    async def _resolve_checked(self, host: str) -> tuple[Address, ...]:
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                found = tuple(ip_address(answer) for answer in await self.resolve(host))
        except (OSError, TimeoutError, UnicodeError, ValueError) as error:
            raise Unreadable(PageStatus.FAILED, Reason("page_host_not_resolved", "the host {host} cannot be resolved", host=host)) from error
        if not found:
            raise Unreadable(PageStatus.FAILED, Reason("page_host_without_address", "the host {host} has no IP address", host=host))
        return found

    def _check_port(self, port: int) -> None:
        if port not in self.ports:
            raise _blocked(Reason("page_port_not_allowed", "port {port} is not allowed", port=port))

    def _check_address(self, address: Address) -> None:
        if not is_public(address) and not any(address in network for network in self.although_private):
            raise _blocked(Reason("page_address_not_public", "it leads to an address that is not public"))


def canonical_host(host: str) -> str:
    """Return the host in its one canonical form. Raises Unreadable if it has none."""
    if ":" in host:
        try:
            return str(IPv6Address(host))
        except ValueError as error:
            raise _blocked(Reason("page_host_invalid", "the host is invalid")) from error
    try:
        name = host.encode("idna").decode("ascii").lower().removesuffix(".")
    except UnicodeError as error:
        raise _blocked(Reason("page_host_invalid", "the host is invalid")) from error
    if len(name) > MAX_HOST_LENGTH or not _HOST.fullmatch(name):
        raise _blocked(Reason("page_host_not_public", "the host is not on the public web"))
    if _NUMBER.fullmatch(name.rpartition(".")[2]) and _as_address(name) is None:
        raise _blocked(Reason("page_host_unusual_address", "the host is an IP address in an unusual form"))
    if any(name == local or name.endswith(f".{local}") for local in LOCAL_NAMES):
        raise _blocked(Reason("page_host_private_name", "the host name belongs to private networks"))
    return name


def _as_address(host: str) -> Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _blocked(reason: Reason) -> Unreadable:
    return Unreadable(PageStatus.BLOCKED, reason)
