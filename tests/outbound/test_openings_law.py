"""No setting of openings and no answer of the DNS makes metadata services or the servers of the installation
reachable.
"""

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from hypothesis import example, given
from hypothesis import strategies as st

from telegram_assistant.domain.understanding.pages import Unreadable
from telegram_assistant.outbound.addresses import Address, Network, is_public
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.outbound.openings import Openings, Server
from tests.outbound.test_openings import METADATA

METADATA_NETWORKS = [
    ip_network(network)
    for network in (
        "169.254.0.0/16",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "fd00:ec2::/32",
        "fd20:ce::/32",
        "fd00:42::/32",
        "fe80::/10",
    )
]
HERE = {
    IPv4Address("127.0.0.1"),
    IPv4Address("127.0.0.9"),
    IPv4Address(0),
    IPv6Address("::1"),
    IPv6Address(0),
    IPv4Address("10.0.0.5"),
}
WEB_PORTS = {80, 443}

PORTS = st.sampled_from([80, 443, 5432, 5678, 8012])
ADDRESSES: st.SearchStrategy[Address] = st.one_of(
    st.sampled_from([ip_address(metadata) for metadata in METADATA]),
    st.sampled_from(
        [*sorted(map(ip_address, ("::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b::5db8:d701"))), *HERE]
    ),
    st.integers(0, 5).map(lambda number: IPv4Address(f"10.0.0.{number}")),
    st.integers(0, 5).map(lambda number: IPv6Address(f"fd12::{number}")),
    st.integers(0, 3).map(lambda number: IPv4Address(f"93.184.215.{number}")),
    st.integers(0, 2**32 - 1).map(IPv4Address),
    st.integers(0, 2**128 - 1).map(IPv6Address),
)
NETWORKS: st.SearchStrategy[Network] = st.tuples(ADDRESSES, st.integers(0, 8)).map(
    lambda drawn: ip_network((drawn[0].packed, drawn[1] * drawn[0].max_prefixlen // 8), strict=False)
)
OWN_NAMES = ["db", "s3.example", "10.0.0.5"]
NAMES = st.sampled_from(["n8n", "wiki.corp", "news.example", "printer.local", *OWN_NAMES[:2]])
EVERYTHING: list[tuple[Network, int]] = [
    (ip_network(network), port) for network in ("0.0.0.0/0", "::/0") for port in (80, 443, 5678)
]


def inner(address: Address) -> Address:
    """The IPv4 address inside, however it is wrapped."""
    if isinstance(address, IPv6Address) and (address.ipv4_mapped or address in ip_network("64:ff9b::/96")):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


@given(
    hosts=st.frozensets(st.tuples(NAMES, PORTS), max_size=4),
    networks=st.lists(st.tuples(NETWORKS, PORTS), max_size=3),
    own=st.frozensets(st.tuples(st.sampled_from(OWN_NAMES), PORTS), max_size=3),
    resolutions=st.dictionaries(NAMES, st.lists(ADDRESSES, min_size=1, max_size=3), min_size=3),
    requests=st.lists(st.tuples(st.one_of(NAMES, ADDRESSES.map(str)), PORTS), min_size=1, max_size=8),
)
@example(
    hosts=frozenset(),
    networks=EVERYTHING,
    own=frozenset(),
    resolutions={},
    requests=[(address, 80) for address in METADATA],
)
@example(
    hosts=frozenset({("n8n", 80)}),
    networks=EVERYTHING,
    own=frozenset({("db", 80), ("10.0.0.5", 443)}),
    resolutions={"db": [IPv4Address("10.0.0.1")], "n8n": [IPv4Address("10.0.0.1")]},
    requests=[("n8n", 80), ("10.0.0.1", 80), ("127.0.0.9", 443), ("10.0.0.2", 80), ("::1", 443)],
)
@example(
    hosts=frozenset(),
    networks=[(ip_network("10.0.0.0/31"), 80)],
    own=frozenset(),
    resolutions={
        "news.example": [IPv4Address("93.184.215.1"), IPv4Address("10.0.0.1"), IPv4Address("10.0.0.2")]
    },
    requests=[("news.example", 80)],
)
async def test_no_metadata_service_and_no_server_of_ours_is_ever_reached(
    hosts: frozenset[Server],
    networks: list[tuple[Network, int]],
    own: frozenset[Server],
    resolutions: dict[str, list[Address]],
    requests: list[Server],
) -> None:
    async def resolve(host: str) -> Sequence[str]:
        if host not in resolutions:
            raise OSError("no such name")
        return [str(address) for address in resolutions[host]]

    guard = Guard(
        resolve=resolve,
        openings=Openings(hosts=hosts, networks=tuple(networks), own_servers=own, is_here=HERE.__contains__),
    )
    for host, port in requests:
        try:
            target = guard.target(f"http://{f'[{host}]' if ':' in host else host}:{port}/")
            reached = await guard.addresses(target.host, target.port)
        except Unreadable:
            continue
        assert (host, port) not in own
        is_web = port in WEB_PORTS and all(is_public(address) for address in reached)
        places = [
            ([ip_address(name)] if name == OWN_NAMES[2] else resolutions[name])
            for name, own_port in own
            if own_port == port and not is_web
        ]
        ours = {inner(address) for addresses in places for address in addresses}
        for address in reached:
            assert not any(inner(address) in network for network in METADATA_NETWORKS)
            assert inner(address) not in ours
            assert not (inner(address) in HERE and ours & HERE)
            is_opened = (host, port) in hosts or any(
                address in network and port == opened for network, opened in networks
            )
            assert is_opened or (is_public(address) and port in WEB_PORTS)
