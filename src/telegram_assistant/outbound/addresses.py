"""Kinds of IP addresses: those of the public web, those that nothing of ours ever connects to,
and those of this machine.
"""

import re
import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

type Address = IPv4Address | IPv6Address
type Network = IPv4Network | IPv6Network

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

FORBIDDEN_NETWORKS = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # another way to write this machine
        "100.100.100.200/32",  # metadata of Alibaba
        "168.63.129.16/32",  # of Azure
        "169.254.0.0/16",  # of most clouds, and the credentials of their containers
        "192.0.0.0/24",  # of Oracle
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
)
"""Networks that no setting opens."""
NEVER_6 = tuple(
    IPv6Network(network)
    for network in (
        "::ffff:0:0/96",  # this one and the next four carry an IPv4 address inside
        "::ffff:0:0:0/96",
        "64:ff9b:1::/48",
        "2001::/32",
        "2002::/16",
        "fd00:ec2::/32",  # metadata of Amazon
        "fd00:42::/32",  # of Scaleway
        "fd20:ce::/32",  # of Google
        "fe80::/10",  # link-local; metadata of OpenStack
        "fec0::/10",
        "ff00::/8",
    )
)
IPV4_COMPATIBLE = IPv6Network("::/96")
LOOPBACK_6 = IPv6Address("::1")


def is_public(address: Address) -> bool:
    """Tell whether this is an address of the public web, however it is wrapped."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in NOT_PUBLIC)
    if address.scope_id is not None:
        return False
    if address in NAT64:  # an IPv4 address as seen from a network without IPv4: the embedded address decides
        return is_public(_extract_ipv4(address))
    if _is_isatap(address):
        return False
    return address in GLOBAL_UNICAST and not any(address in network for network in NOT_PUBLIC_6)


def is_forbidden(address: Address) -> bool:
    """Tell whether no setting opens this address: metadata of clouds, multicast,
    and IPv6 addresses with a private IPv4 address inside.
    """
    if isinstance(address, IPv4Address):
        return any(address in network for network in FORBIDDEN_NETWORKS)
    if address in NAT64:
        return not is_public(_extract_ipv4(address))
    if address in IPV4_COMPATIBLE and address != LOOPBACK_6:
        return True
    return (
        address.scope_id is not None or _is_isatap(address) or any(address in network for network in NEVER_6)
    )


def unwrap(address: Address) -> Address:
    """Return the IPv4 address inside an IPv6 address that leads to the same server, or the address itself."""
    if isinstance(address, IPv6Address):
        return _extract_ipv4(address) if address in NAT64 else address.ipv4_mapped or address
    return address


def is_of_this_machine(address: Address) -> bool:
    """Tell whether a server on this machine can listen on this address.

    Only an address of one of its interfaces can be bound.
    """
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


def as_address(host: str) -> Address | None:
    """Return the host as an address; None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def _extract_ipv4(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)


def _is_isatap(address: IPv6Address) -> bool:
    return ISATAP.match(":".join(address.exploded.split(":")[4:6])) is not None
