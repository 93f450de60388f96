"""A real browser behind the proxy: whatever a page asks for, by whatever means, nothing inside is reached.

One page tries every trick in every way that pages have; the tests look at what came of each.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from telegram_assistant.crawling.browser import running_browser
from telegram_assistant.errors import CannotStart
from telegram_assistant.outbound.guard import Guard
from telegram_assistant.settings import CrawlSettings, read_group
from testkit.web import EVERYTHING, Web, answer, small_web
from tests.crawling.tricks import NAMES, TRICKS

WAYS = {
    "fetch": "fetch(url, {mode: 'no-cors'}).catch(() => 0)",
    "request": (
        "new Promise(done => { const x = new XMLHttpRequest(); x.onloadend = done; x.open('GET', url); "
        "x.send() })"
    ),
    "picture": "loaded(new Image(), 'src', url)",
    "script": "loaded(document.createElement('script'), 'src', url)",
    "style": "loaded(Object.assign(document.createElement('link'), {rel: 'stylesheet'}), 'href', url)",
    "frame": "loaded(document.createElement('iframe'), 'src', url)",
    "object": "loaded(document.createElement('object'), 'data', url)",
    "video": "loaded(document.createElement('video'), 'src', url)",
    "socket": (
        "new Promise(done => { const s = new WebSocket(url.replace(/^http/, 'ws')); "
        "s.onclose = s.onerror = done })"
    ),
    "event-source": (
        "new Promise(done => { const s = new EventSource(url); s.onerror = () => { s.close(); done() } })"
    ),
    "beacon": "Promise.resolve(navigator.sendBeacon(url, 'x'))",
    "form": "sent(url)",
    "prefetch": "loaded(Object.assign(document.createElement('link'), {rel: 'prefetch'}), 'href', url)",
    "worker": (
        "new Promise(done => { worker(`fetch('${url}', {mode: 'no-cors'}).finally(() => "
        "postMessage(1))`).onmessage = done })"
    ),
    "peer": "peer(url)",
}

PAGE = """<!DOCTYPE html><title>x</title><body><script>
const within = (work, ms) => Promise.race([work, new Promise(done => setTimeout(done, ms))])
const loaded = (node, name, url) => new Promise(done => {
  node.onload = node.onerror = done; node[name] = url; document.body.append(node) })
const worker = code => new Worker(URL.createObjectURL(new Blob([code])))
const sent = url => { const frame = document.createElement('iframe'); frame.name = 'f' + Math.random();
  const form = Object.assign(document.createElement('form'),
    {action: url, method: 'post', target: frame.name});
  document.body.append(frame, form); form.submit(); return new Promise(done => setTimeout(done, 200)) }
const peer = async url => {
  const c = new RTCPeerConnection({iceServers: [{urls: 'stun:' + new URL(url).host}]});
  c.createDataChannel('x');
  await c.setLocalDescription(await c.createOffer()); await new Promise(done => setTimeout(done, 500)) }
const ways = {%(ways)s}
const say = what => fetch('/said?' + what)
const main = async () => {
  for (const [name, url] of %(tricks)s) {
    await within((async () => { try { await ways.fetch(url) } catch {} })(), 1500)
    try { const image = new Image(); image.src = url } catch {} ; await say('trick-' + name) }
  for (const name of Object.keys(ways)) {
    try { await within(ways[name]('http://127.0.0.1:%(port)s/'), 1500) } catch {} ; await say('way-' + name) }
  try { await navigator.serviceWorker.register('/service.js'); await navigator.serviceWorker.ready
    await within(fetch('/through'), 1500) } catch {}
  await say('way-service-worker')
  await say('done'); location = 'http://127.0.0.1:%(port)s/' }
main()
</script>"""
SERVICE = """self.addEventListener('activate', event => event.waitUntil(clients.claim()))
self.addEventListener('fetch', event => {
  if (event.request.url.endsWith('/through'))
    event.respondWith(fetch('http://127.0.0.1:%(port)s/', {mode: 'no-cors'})) })"""


@dataclass
class Attack:
    web: Web
    refused: int = 0
    has_own_sandbox: bool = False
    processes: list[str] = field(default_factory=list)
    datagrams: list[bytes] = field(default_factory=list)

    def has_reached(self, what: str) -> bool:
        return self.web.outside.count(f"/said?{what}") > 0


class _Listener(asyncio.DatagramProtocol):
    def __init__(self, received: list[bytes]) -> None:
        self.packets = received

    def datagram_received(self, data: bytes, _address: object) -> None:
        self.packets.append(data)


def _environments(profile: Path) -> list[str]:
    """Of all processes that were started with this profile."""
    environments = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(profile).encode() in (process / "cmdline").read_bytes():
                environments.append((process / "environ").read_text(encoding="utf-8", errors="replace"))
    return environments


def has_user_namespaces() -> bool:
    return (
        sys.platform == "linux"
        and subprocess.run(["unshare", "--user", "true"], capture_output=True, check=False).returncode == 0
    )


async def attack(web: Web, guard: Guard, tricks: dict[str, str]) -> Attack:
    ways = ", ".join(f"{json.dumps(name)}: async url => {code}" for name, code in WAYS.items())
    named = json.dumps([[name, trick.replace("{port}", str(web.port))] for name, trick in tricks.items()])
    web.outside.pages |= {
        "/": answer(PAGE % {"ways": ways, "tricks": named, "port": web.port}),
        "/service.js": answer(SERVICE % {"port": web.port}, kind="text/javascript"),
        "/said": answer("heard"),
        "/through": answer("not through the worker"),
    }
    running = Attack(web)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: _Listener(running.datagrams), ("127.0.0.1", web.port)
    )
    secure = f"--unsafely-treat-insecure-origin-as-secure={web.url('').removesuffix('/')}"
    try:
        async with running_browser(guard, "chromium", secure, web.url("/")) as browser, asyncio.timeout(120):
            while not running.has_reached("done"):
                await asyncio.sleep(0.05)
            await asyncio.sleep(0.5)
            running.refused, running.has_own_sandbox = browser.proxy.refused, browser.has_own_sandbox
            running.processes = await asyncio.to_thread(_environments, browser.profile)
    finally:
        transport.close()
    return running


@pytest.fixture(scope="module")
async def attack_result() -> AsyncIterator[Attack]:
    async with small_web(NAMES) as web:
        yield await attack(web, web.guard(), TRICKS)


@pytest.mark.parametrize("trick", TRICKS)
async def test_a_page_that_asks_for_a_trick_reaches_nothing(attack_result: Attack, trick: str) -> None:
    assert attack_result.has_reached(f"trick-{trick}")
    assert attack_result.web.inside.connections == 0


@pytest.mark.parametrize("way", [*WAYS, "service-worker"])
async def test_there_is_no_way_around_the_proxy(attack_result: Attack, way: str) -> None:
    assert attack_result.has_reached(f"way-{way}")
    assert attack_result.web.inside.connections == 0
    assert attack_result.datagrams == []


async def test_what_was_refused_was_asked_of_the_proxy(attack_result: Attack) -> None:
    """The browser did try, and looked up no name itself."""
    assert attack_result.refused > len(TRICKS) // 2
    assert {name for name in NAMES if name in attack_result.web.looked_up} >= {
        "to-loopback.example",
        "to-metadata.example",
        "one-of-two.example",
    }


@pytest.mark.skipif(
    not has_user_namespaces(), reason="this machine allows no user namespaces, which Chromium's sandbox needs"
)
async def test_the_browser_keeps_its_own_sandbox(attack_result: Attack) -> None:
    assert attack_result.has_own_sandbox


async def test_no_process_of_the_browser_knows_our_environment(attack_result: Attack) -> None:
    assert len(attack_result.processes) > 2
    assert not [
        process for process in attack_result.processes if "DATABASE_URL" in process or "REDIS_URL" in process
    ]


async def test_without_the_guard_the_same_page_would_reach_the_secret() -> None:
    async with small_web(NAMES) as web:
        running = await attack(web, web.guard(EVERYTHING), {})
        assert running.web.inside.connections > len(WAYS) // 2


@pytest.mark.turns("BROWSER_PATH")
async def test_the_browser_is_the_one_that_was_named(web: Web) -> None:
    path = read_group(CrawlSettings, {"BROWSER_PATH": "/nowhere/chromium"}).browser_path
    with pytest.raises(CannotStart, match="/nowhere/chromium"):
        async with running_browser(web.guard(), path):
            pass
    with pytest.raises(CannotStart, match="ended"):
        async with running_browser(web.guard(), "/bin/true"):
            pass
