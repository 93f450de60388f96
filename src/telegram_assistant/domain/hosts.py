"""The name under which a request asks for this server.

A foreign one shows DNS rebinding: a web page that reaches us under its own name.
"""

import ipaddress
import re
from collections.abc import Sequence

HOST = re.compile(r"(?:\[(?P<ipv6>[0-9a-fA-F:.]+)\]|(?P<name>[^\s:@/\[\]]+))(?::\d+)?")

type Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def host_in(headers: Sequence[str]) -> str | None:
    """The host in the Host headers of a request, without its port.

    None if there is none, more than one, or a damaged one.
    """
    match = HOST.fullmatch(headers[0]) if len(headers) == 1 else None
    return (match["ipv6"] or match["name"]).lower().removesuffix(".") if match else None


def address_in(host: str) -> Address | None:
    """The address that the host is written as; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
