"""Authorization for the operator's endpoints of every role: health details, metrics,
and reading a channel on demand.
"""

import ipaddress
import secrets

from starlette.requests import Request
from starlette.responses import Response

from telegram_assistant.api.problems import problem
from telegram_assistant.api.rate_limiting import FailedKeys
from telegram_assistant.domain.hosts import address_in, host_in
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import HttpSettings

FORWARDING = ("forwarded", "via", "x-real-ip")
FORWARDING_PREFIX = "x-forwarded-"
KEY_NEEDED = Reason(
    "operator_key_needed",
    "Only for the operator. Send `Authorization: Bearer` with the value of OPERATOR_KEY.",
)
KEY_NOT_SET = Reason(
    "operator_key_not_set", "Only for the operator. This needs the operator's key: set OPERATOR_KEY first."
)


class OperatorAccess:
    """Decides by the operator's key, the Host header and the client's address.

    Each method returns an error response, or None to allow.
    """

    def __init__(self, http: HttpSettings, failed_keys: FailedKeys) -> None:
        self._failed_keys = failed_keys
        self._key = http.operator_key.get_secret_value().encode()
        self._names = {"localhost", http.host.lower(), *http.allowed_hosts}

    async def refuse_probe(self, request: Request) -> Response | None:
        """For /health and /readyz: requests from this machine are allowed, others need the key."""
        return None if self._is_local(request) else await self._refuse_without_key(request)

    async def refuse_page(self, request: Request) -> Response | None:
        """For pages that the operator reads: if a key is set, it is required;
        otherwise only this machine is allowed.
        """
        if not self._key and self._is_local(request):
            return None
        return await self.refuse_action(request)

    async def refuse_action(self, request: Request) -> Response | None:
        """For actions of the operator: the key is always required."""
        return (
            await self._refuse_without_key(request)
            if self._has_known_host(request)
            else _refuse_host(request)
        )

    async def _refuse_without_key(self, request: Request) -> Response | None:
        if self._has_key(request):
            return None
        refusal = problem(401, KEY_NEEDED if self._key else KEY_NOT_SET)
        if "authorization" not in request.headers:
            return refusal
        return await self._failed_keys.refuse(request.client.host if request.client else None, refusal)

    def _has_key(self, request: Request) -> bool:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        return (
            bool(self._key) and scheme.lower() == "bearer" and secrets.compare_digest(key.encode(), self._key)
        )

    def _is_local(self, request: Request) -> bool:
        """A request forwarded by a proxy on this machine, or sent by a browser to a foreign host name,
        does not count as local.
        """
        if (
            any(name in FORWARDING or name.startswith(FORWARDING_PREFIX) for name in request.headers)
            or request.client is None
        ):
            return False
        return ipaddress.ip_address(request.client.host).is_loopback and self._has_known_host(request)

    def _has_known_host(self, request: Request) -> bool:
        """Prevents DNS rebinding: a foreign web page can reach this address only under its own host name."""
        host = host_in(request.headers.getlist("host"))
        if host is None or host in self._names:
            return host is not None
        address = address_in(host)
        return address is not None and (address.is_loopback or host == (request.scope["server"] or ("",))[0])


def _refuse_host(request: Request) -> Response:
    return problem(
        421,
        Reason(
            "host_unknown",
            "This server does not answer requests for the host {host!a}. If the name is yours, "
            "add it to ALLOWED_HOSTS.",
            host=request.headers.get("host", ""),
        ),
    )
