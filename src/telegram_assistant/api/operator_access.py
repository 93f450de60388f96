"""Authorization for the operator's pages of every role: health details, metrics, and the trigger of the ingest role."""

import ipaddress
import re
import secrets

from starlette.requests import Request
from starlette.responses import Response

from telegram_assistant.api.problems import TITLES, problem
from telegram_assistant.api.rate_limiting import FailedKeys
from telegram_assistant.settings import HttpSettings

HOST = re.compile(r"(?:\[(?P<ipv6>[0-9a-fA-F:.]+)\]|(?P<name>[^\s:@/\[\]]+))(?::\d+)?")
FORWARDING = ("forwarded", "via", "x-real-ip")
FORWARDING_PREFIX = "x-forwarded-"


class OperatorAccess:
    """Decides by the operator's key, the Host header and the client's address. Each method returns the refusal, or None."""

    def __init__(self, http: HttpSettings, failed_keys: FailedKeys) -> None:
        self._failed_keys = failed_keys
        self._key = http.operator_key.get_secret_value().encode()
        self._names = {"localhost", http.host.lower(), *filter(None, http.allowed_hosts.split(","))}

    async def refuse_probe(self, request: Request) -> Response | None:
        """/health and /ready: open to this machine; from elsewhere with the key."""
        return None if self._is_local(request) else await self._refuse_without_key(request)

    async def refuse_page(self, request: Request) -> Response | None:
        """What the operator reads: with the key where one is set, else from this machine only."""
        if not self._key and self._is_local(request):
            return None
        return await self.refuse_action(request)

    async def refuse_action(self, request: Request) -> Response | None:
        """What the operator does: always with the key."""
        return await self._refuse_without_key(request) if self._has_known_host(request) else _misdirected(request)

    async def _refuse_without_key(self, request: Request) -> Response | None:
        if self._has_key(request):
            return None
        hint = "Send `Authorization: Bearer` with the value of OPERATOR_KEY." if self._key else "This needs a key: set OPERATOR_KEY."
        refusal = problem(401, "Only for the operator", hint)
        if "authorization" not in request.headers:
            return refusal
        return await self._failed_keys.refuse(request.client.host if request.client else None, refusal)

    def _has_key(self, request: Request) -> bool:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return bool(self._key) and scheme.lower() == "bearer" and secrets.compare_digest(given.encode(), self._key)

    def _is_local(self, request: Request) -> bool:
        """A request that a proxy on this machine forwards, or that a browser sends to a stranger's name, is not from this machine."""
        if any(name in FORWARDING or name.startswith(FORWARDING_PREFIX) for name in request.headers) or request.client is None:
            return False
        return ipaddress.ip_address(request.client.host).is_loopback and self._has_known_host(request)

    def _has_known_host(self, request: Request) -> bool:
        """Closes DNS rebinding: a page of a stranger's site can reach this address only under the name of its site."""
        given = request.headers.getlist("host")
        read = HOST.fullmatch(given[0]) if len(given) == 1 else None
        if read is None:
            return False
        name = (read["ipv6"] or read["name"]).lower().removesuffix(".")
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return address.is_loopback or name in self._names or name == (request.scope["server"] or ("",))[0]


def _misdirected(request: Request) -> Response:
    named = ascii(request.headers.get("host", ""))
    return problem(421, TITLES[421], f"This installation does not know itself as {named}. If it is yours, add the name to ALLOWED_HOSTS.")
