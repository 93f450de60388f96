"""Addresses beside the public web that the operator opened for webhooks, and the installation's own servers,
which nothing opens.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_network
from urllib.parse import parse_qs, urlsplit

from telegram_assistant.outbound.addresses import Address, Network, is_of_this_machine, unwrap
from telegram_assistant.settings import HttpSettings, Settings, split_port

WEB_PORTS = (80, 443)
DEFAULT_PORTS = {
    "postgresql": 5432,
    "postgres": 5432,
    "redis": 6379,
    "rediss": 6379,
    "http": 80,
    "https": 443,
    "bolt": 7687,
    "neo4j": 7687,
}
QDRANT_PORT = 6333
"""The port that Qdrant's client connects to if the URL has none."""

type Server = tuple[str, int]
"""Host and port."""


@dataclass(frozen=True, slots=True)
class Openings:
    """Hosts and networks that webhooks may reach, each with a port, and the servers that they never reach."""

    hosts: frozenset[Server] = frozenset()
    networks: tuple[tuple[Network, int], ...] = ()
    own_servers: frozenset[Server] = frozenset()
    own_names: frozenset[Server] = frozenset()
    """The roles of this installation, by the names under which they are called.

    They may run nowhere, so nobody resolves them.
    """
    is_here: Callable[[Address], bool] = is_of_this_machine

    def opens_host(self, host: str, port: int) -> bool:
        return (host, port) in self.hosts

    def may_open(self, host: str, port: int) -> bool:
        """Whether this host may turn out to be opened, once it is resolved."""
        return self.opens_host(host, port) or any(True for _ in self._networks_at(port))

    def opens_address(self, host: str, port: int, address: Address) -> bool:
        return self.opens_host(host, port) or any(address in network for network in self._networks_at(port))

    def is_own_name(self, host: str, port: int) -> bool:
        return (host, port) in self.own_servers or (host, port) in self.own_names

    def own_servers_at(self, port: int) -> Iterator[str]:
        return (host for host, own_port in self.own_servers if own_port == port)

    def is_own_port(self, port: int) -> bool:
        """Whether a server of this installation uses the port.

        No network opens it, whatever its address is: servers have many.
        """
        return port not in WEB_PORTS and any(
            port == own_port for _, own_port in (*self.own_servers, *self.own_names)
        )

    def is_one_of(self, own: Iterable[Address], addresses: Iterable[Address]) -> bool:
        """Whether one of the addresses leads to one of our own.

        All addresses of this machine lead to the same servers.
        """
        own_addresses = {unwrap(address) for address in own}
        is_own_here = any(self.is_here(address) for address in own_addresses)
        return any(
            unwrap(address) in own_addresses or (is_own_here and self.is_here(unwrap(address)))
            for address in addresses
        )

    def _networks_at(self, port: int) -> Iterator[Network]:
        return (
            network
            for network, opened_port in self.networks
            if opened_port == port and not self.is_own_port(port)
        )


def read_openings(settings: Settings) -> Openings:
    return Openings(
        hosts=frozenset(server for entry in settings.outbound.hosts for server in parse_host(entry)),
        networks=tuple(
            opened_network for entry in settings.outbound.networks for opened_network in parse_network(entry)
        ),
        own_servers=frozenset(own_servers(settings)),
        own_names=frozenset(
            (name, port) for name in settings.http.allowed_hosts for port in _role_ports(settings.http)
        ),
    )


def parse_host(entry: str) -> list[Server]:
    """The servers that an entry of OUTBOUND_ALLOWED_HOSTS opens."""
    host, port = split_port(entry)
    return [(host, opened_port) for opened_port in ((port,) if port else WEB_PORTS)]


def parse_network(entry: str) -> list[tuple[Network, int]]:
    """The networks and ports that an entry of OUTBOUND_ALLOWED_NETWORKS opens."""
    network, port = split_port(entry)
    return [(ip_network(network), opened_port) for opened_port in ((port,) if port else WEB_PORTS)]


def own_servers(settings: Settings) -> Iterator[Server]:
    """The servers that the settings name, and the roles themselves."""
    database, http = settings.database, settings.http
    secret_urls = (
        database.url,
        database.system_url,
        database.ingest_url,
        database.admin_url,
        database.direct_url,
        settings.redis.url,
    )
    urls = [url.get_secret_value() for url in secret_urls if url is not None]
    urls += [
        settings.files.endpoint,
        settings.graph.uri,
        settings.vectors.url,
        settings.openai.base_url,
        settings.embeddings.base_url,
        settings.telemetry.traces_endpoint,
    ]
    for url in urls:
        yield from _servers_of(url)
    if settings.vectors.url and urlsplit(settings.vectors.url).port is None:
        yield from ((host, QDRANT_PORT) for host, _ in _servers_of(settings.vectors.url))
    addresses = [
        (settings.mail.host, settings.mail.port),
        (settings.telegram.proxy_addr, settings.telegram.proxy_port),
    ]
    addresses += [(settings.telegram.dc_addr, settings.telegram.dc_port)]
    if settings.crawl.crawler_address:
        host, port = split_port(settings.crawl.crawler_address)
        addresses += [(host, port or 0)]
    addresses += [
        (host, port) for host in {http.host, http.operations_host or http.host} for port in _role_ports(http)
    ]
    yield from ((_plain_name(host), port) for host, port in addresses if host and port)


def _role_ports(http: HttpSettings) -> list[int]:
    ports = (
        http.ingest_port,
        http.worker_port,
        http.api_port,
        http.ingest_operations_port,
        http.worker_operations_port,
    )
    first = http.api_operations_port
    return [
        *(port for port in ports if port),
        *(range(first, first + http.api_processes) if first else ()),
    ]


def _servers_of(url: str) -> Iterator[Server]:
    """The hosts and ports of a URL. Those of PostgreSQL may name several, and name them in the query too."""
    scheme, _, address_part = url.partition("://")
    default = DEFAULT_PORTS.get(scheme.partition("+")[0].lower(), 0)
    authority = address_part.partition("/")[0].partition("?")[0].partition("#")[0].rpartition("@")[2]
    query = parse_qs(url.partition("?")[2])
    query_hosts = [part for hosts in query.get("host", ()) for part in hosts.split(",")]
    ports = [
        int(port) for port_list in query.get("port", ()) for port in port_list.split(",") if port.isdecimal()
    ]
    for part in (*authority.split(","), *query_hosts):
        host, own_port = split_port(part)
        if not host.startswith(("/", "%2f", "%2F")):  # a socket file
            yield from ((_plain_name(host), port) for port in {own_port or default, *ports} if port)


def _plain_name(host: str) -> str:
    return host.lower().removesuffix(".") or "localhost"
