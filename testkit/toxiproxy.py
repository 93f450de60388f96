"""Bad networks through toxiproxy."""

import itertools
import os
from urllib.parse import urlsplit, urlunsplit

import httpx

_numbers = itertools.count(os.getpid() % 10_000)


class ToxiProxy:
    """A road to a server that can be made bad: one proxy of toxiproxy."""

    def __init__(self, api: httpx.AsyncClient, name: str, upstream: str) -> None:
        self._api = api
        self._name = f"{name}-{next(_numbers)}"
        self._upstream = upstream
        self.port = 0

    async def open(self) -> None:
        answer = await self._api.post(
            "/proxies", json={"name": self._name, "listen": "127.0.0.1:0", "upstream": self._upstream}
        )
        answer.raise_for_status()
        self.port = int(answer.json()["listen"].rpartition(":")[2])

    async def close(self) -> None:
        await self._api.delete(f"/proxies/{self._name}")

    async def spoil(self, kind: str, **attributes: int) -> None:
        """A toxic on the way back: answers are late, broken or gone."""
        toxic = {"name": kind, "type": kind, "stream": "downstream", "attributes": attributes}
        (await self._api.post(f"/proxies/{self._name}/toxics", json=toxic)).raise_for_status()

    async def mend(self) -> None:
        """All toxics away; connections that lost bytes are cut, as a network does in the end."""
        for toxic in (await self._api.get(f"/proxies/{self._name}/toxics")).json():
            await self._api.delete(f"/proxies/{self._name}/toxics/{toxic['name']}")
        await self.disable()

    async def disable(self) -> None:
        for enabled in (False, True):
            await self.set_enabled(enabled=enabled)

    async def set_enabled(self, *, enabled: bool) -> None:
        """Connections through, or none; those that are open are cut."""
        await self._api.post(f"/proxies/{self._name}", json={"enabled": enabled})


def through(url: str, port: int) -> str:
    """The same address by way of a proxy on this port."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{port}"))
