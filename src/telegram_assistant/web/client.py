"""The client of a request: address and scheme, as seen by us or by a proxy that we trust."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

from starlette.requests import Request


@dataclass(frozen=True, slots=True)
class Client:
    """The address of the browser, and whether it speaks https."""

    address: str
    is_https: bool


class Clients:
    """Believes X-Forwarded-For and X-Forwarded-Proto of trusted proxies only.

    `is_https`: people open the pages over https, whatever arrives here.
    """

    def __init__(self, trusted: Sequence[str], *, is_https: bool = False) -> None:
        self._is_https = is_https
        self._trusted: list[IPv4Network | IPv6Network] = [ip_network(network) for network in trusted]

    def identify(self, request: Request) -> Client:
        peer = request.client.host if request.client else ""
        if not self._trusts(peer):
            return Client(peer, self._is_https or request.url.scheme == "https")
        hops = [hop.strip() for hop in request.headers.get("x-forwarded-for", "").split(",") if hop.strip()]
        # The last hop that is not one of our proxies: what stands before it may be invented.
        address = next((hop for hop in reversed(hops) if not self._trusts(hop)), peer)
        scheme = request.headers.get("x-forwarded-proto", request.url.scheme).partition(",")[0].strip()
        return Client(address, self._is_https or scheme == "https")

    def _trusts(self, address: str) -> bool:
        try:
            parsed_address = ip_address(address)
        except ValueError:
            return False
        return any(parsed_address in network for network in self._trusted)
