"""The operator can open his own network for webhooks;
metadata services and the servers of the installation stay closed.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address
from urllib.parse import urlsplit
from uuid import UUID

import pytest

from telegram_assistant.domain.receivers.delivery import new_secret
from telegram_assistant.domain.understanding.pages import Unreadable
from telegram_assistant.errors import SettingsError
from telegram_assistant.outbound.addresses import Address
from telegram_assistant.outbound.guard import Guard, outbound_guard
from telegram_assistant.outbound.openings import Openings
from telegram_assistant.outbound.webhooks import WebhookClient
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import Settings, read_settings
from telegram_assistant.translation import translate
from testkit.receiving import Webhook, serve

NEEDED = {"DATABASE_URL": "postgresql://u:p@db.example/x", "REDIS_URL": "redis://cache.example/0"}
PUBLIC = "93.184.215.14"
SETTINGS_NAMED = "the operator of this server can allow it"
METADATA = (
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fd00:42::42",
    "fe80::a9fe:a9fe",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "::169.254.169.254",
)


def settings_of(**environ: str) -> Settings:
    return read_settings({**NEEDED, **environ})


def guard_of(names: Mapping[str, Sequence[str]] | None = None, **environ: str) -> Guard:
    """A guard whose DNS knows these names only."""

    async def resolve(host: str) -> Sequence[str]:
        if host not in (names or {}):
            raise OSError("no such name")
        return (names or {})[host]

    return outbound_guard(settings_of(**environ), resolve=resolve)


async def reach(guard: Guard, url: str) -> tuple[Address, ...]:
    """The addresses that a request to this URL would connect to."""
    target = guard.target(url)
    return await guard.addresses(target.host, target.port)


async def refusal(guard: Guard, url: str) -> Reason:
    with pytest.raises(Unreadable) as refused:
        await reach(guard, url)
    return refused.value.reason


@pytest.mark.turns("OUTBOUND_ALLOWED_HOSTS")
@pytest.mark.parametrize(
    ("opened", "url", "address"),
    [
        ("n8n:5678", "http://n8n:5678/webhook/news", "172.20.0.7"),
        ("N8N.:5678", "http://n8n.:5678/webhook/news", "172.20.0.7"),
        ("homeassistant.local:8123", "http://homeassistant.local:8123/api/webhook/x", "192.168.1.20"),
        ("mattermost.corp", "https://mattermost.corp/hooks/x", "10.1.2.3"),
        ("mattermost.corp", "http://mattermost.corp/hooks/x", "10.1.2.3"),
        ("my.example.org:8443", "https://my.example.org:8443/", PUBLIC),
        ("ntfy.lan", "http://ntfy.lan/", "fd12:3456::7"),
        ("127.0.0.1:9999,n8n:5678", "http://n8n:5678/", "127.0.0.1"),
        ("дом.lan:8080", "http://дом.lan:8080/", "192.168.1.9"),
    ],
)
async def test_a_host_that_the_operator_opened_is_reached_at_its_port(
    opened: str, url: str, address: str
) -> None:
    name = (urlsplit(url).hostname or "").removesuffix(".").encode("idna").decode()
    guard = guard_of({name: [address]}, OUTBOUND_ALLOWED_HOSTS=opened)
    assert await reach(guard, url) == (ip_address(address),)
    assert (await refusal(guard_of({name: [address]}), url)).code == "outbound_not_opened"


@pytest.mark.turns("OUTBOUND_ALLOWED_NETWORKS")
@pytest.mark.parametrize(
    ("opened", "url"),
    [
        ("192.168.1.0/24:5678", "http://192.168.1.10:5678/"),
        ("192.168.1.0/24:5678", "http://n8n:5678/"),
        ("192.168.1.10:5678", "http://n8n.corp:5678/"),
        ("192.168.0.0/16", "https://n8n.home/"),
        ("fd12::/16,192.168.1.0/24", "http://[fd12::7]/"),
        ("[fd12::/16]:8123", "http://[fd12::7]:8123/"),
    ],
)
async def test_a_network_that_the_operator_opened_is_reached_by_address_and_by_name(
    opened: str, url: str
) -> None:
    names = {name: ["192.168.1.10"] for name in ("n8n", "n8n.corp", "n8n.home")}
    assert len(await reach(guard_of(names, OUTBOUND_ALLOWED_NETWORKS=opened), url)) == 1
    assert SETTINGS_NAMED in str(await refusal(guard_of(names), url))


@pytest.mark.parametrize(
    "url",
    [
        "http://n8n:5679/",  # another port
        "http://n8n/",
        "http://other:5678/",
        "http://n8n.example.org:5678/",
        "http://192.168.1.10:5678/",  # the same machine by its address
        "http://192.168.2.10:8123/",  # the neighbouring network
        "http://192.168.1.10/",
        "http://elsewhere.corp:8123/",
    ],
)
async def test_only_the_opened_port_of_the_opened_host_is_open(url: str) -> None:
    names = {
        "n8n": ["192.168.1.10"],
        "other": ["192.168.1.10"],
        "n8n.example.org": ["192.168.1.10"],
        "elsewhere.corp": ["10.0.0.1"],
    }
    guard = guard_of(
        names, OUTBOUND_ALLOWED_HOSTS="n8n:5678", OUTBOUND_ALLOWED_NETWORKS="192.168.1.0/24:8123"
    )
    assert SETTINGS_NAMED in str(await refusal(guard, url))


@pytest.mark.parametrize("metadata", METADATA)
async def test_no_setting_opens_a_metadata_service(metadata: str) -> None:
    literal = f"[{metadata}]" if ":" in metadata else metadata
    opened = {
        "OUTBOUND_ALLOWED_NETWORKS": "0.0.0.0/0,::/0",
        "OUTBOUND_ALLOWED_HOSTS": f"{literal}:80,metadata.google.internal",
    }
    guard = guard_of({"metadata.google.internal": [metadata], "news.example": [PUBLIC, metadata]}, **opened)
    for url in (f"http://{literal}/", "http://metadata.google.internal/", "http://news.example/"):
        assert (await refusal(guard, url)).code == "outbound_never", url


@pytest.mark.parametrize(
    ("addresses", "is_reached"),
    [
        ([PUBLIC], True),
        ([PUBLIC, "192.168.1.10"], True),
        (["192.168.1.10", "192.168.1.11"], True),
        ([PUBLIC, "192.168.1.10", "10.0.0.1"], False),
        ([PUBLIC, "192.168.1.10", "169.254.169.254"], False),
        ([PUBLIC, "127.0.0.1"], False),
        (["192.168.1.10", "::ffff:192.168.1.10"], False),
    ],
)
async def test_every_answer_of_the_dns_must_be_open(addresses: list[str], is_reached: bool) -> None:
    guard = guard_of({"news.example": addresses}, OUTBOUND_ALLOWED_NETWORKS="192.168.1.0/24")
    if is_reached:
        assert await reach(guard, "http://news.example/") == tuple(map(ip_address, addresses))
    else:
        assert (await refusal(guard, "http://news.example/")).code in {
            "outbound_not_opened",
            "outbound_never",
        }


@pytest.mark.parametrize("networks", ["", "192.168.1.0/24"])
@pytest.mark.parametrize("host", ["wiki.corp", "printer.local", "router", "inside.example.org"])
async def test_a_refusal_does_not_tell_whether_a_private_host_exists(host: str, networks: str) -> None:
    exists = guard_of({host: ["10.0.0.1"]}, OUTBOUND_ALLOWED_NETWORKS=networks)
    unknown = guard_of({}, OUTBOUND_ALLOWED_NETWORKS=networks)
    mixed = guard_of({host: [PUBLIC, "10.0.0.1"]}, OUTBOUND_ALLOWED_NETWORKS=networks)
    empty = guard_of({host: []}, OUTBOUND_ALLOWED_NETWORKS=networks)
    answers = {str(await refusal(guard, f"http://{host}/")) for guard in (exists, unknown, mixed, empty)}
    assert len(answers) == 1
    assert answers.pop().endswith(SETTINGS_NAMED)


async def test_nothing_is_resolved_before_a_delivery() -> None:
    async def resolve(host: str) -> Sequence[str]:
        raise AssertionError(host)

    guard = outbound_guard(
        settings_of(OUTBOUND_ALLOWED_HOSTS="n8n:5678", OUTBOUND_ALLOWED_NETWORKS="10.0.0.0/8"),
        resolve=resolve,
    )
    for url in ("http://n8n:5678/", "http://wiki.corp/", "http://10.0.0.1/", "https://news.example/"):
        assert guard.target(url).url == url
    with pytest.raises(Unreadable):
        guard.target("http://wiki.corp:8080/")


async def test_a_name_that_changes_its_mind_after_the_check_gains_nothing() -> None:
    answers = iter([["192.168.1.10"], ["169.254.169.254"]])

    async def rebinding(_host: str) -> Sequence[str]:
        return next(answers)

    guard = outbound_guard(settings_of(OUTBOUND_ALLOWED_NETWORKS="192.168.1.0/24"), resolve=rebinding)
    target = guard.target("http://news.example/")
    guard_only_news = replace(guard, openings=replace(guard.openings or Openings(), own_servers=frozenset()))
    assert await guard_only_news.addresses(target.host, target.port) == (ip_address("192.168.1.10"),)
    assert next(answers) == ["169.254.169.254"]


@pytest.mark.parametrize(
    "url",
    [
        "ftp://n8n:5678/",
        "http://user@n8n:5678/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://n8n:5678/ HTTP",
        "http://n 8n/",
        "http://[n8n]/",
    ],
)
async def test_what_no_setting_can_open_does_not_name_the_settings(url: str) -> None:
    guard = guard_of({}, OUTBOUND_ALLOWED_HOSTS="n8n:5678", OUTBOUND_ALLOWED_NETWORKS="0.0.0.0/0")
    assert "OUTBOUND" not in str(await refusal(guard, url))


async def test_the_refusal_is_said_in_russian_too() -> None:
    russian = translate(await refusal(guard_of(), "http://n8n:5678/"), "ru")
    assert russian.endswith("разрешить это может оператор этого сервера")
    assert "оператор" in russian


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("OUTBOUND_ALLOWED_HOSTS", "*"),
        ("OUTBOUND_ALLOWED_HOSTS", "*.corp"),
        ("OUTBOUND_ALLOWED_HOSTS", "http://n8n:5678"),
        ("OUTBOUND_ALLOWED_HOSTS", "n8n:5678/path"),
        ("OUTBOUND_ALLOWED_HOSTS", "n8n:0"),
        ("OUTBOUND_ALLOWED_HOSTS", "n8n:65536"),
        ("OUTBOUND_ALLOWED_HOSTS", "n8n:port"),
        ("OUTBOUND_ALLOWED_HOSTS", "user@n8n"),
        ("OUTBOUND_ALLOWED_HOSTS", "10.0.0.0/8"),
        ("OUTBOUND_ALLOWED_HOSTS", ":5678"),
        ("OUTBOUND_ALLOWED_NETWORKS", "n8n"),
        ("OUTBOUND_ALLOWED_NETWORKS", "192.168.1.0/33"),
        ("OUTBOUND_ALLOWED_NETWORKS", "192.168.1.0/24:0"),
        ("OUTBOUND_ALLOWED_NETWORKS", "192.168.1.0/24:*"),
        ("OUTBOUND_ALLOWED_NETWORKS", "*"),
    ],
)
def test_an_entry_that_opens_nothing_is_told_at_the_start(name: str, text: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is wrong: write .* separated by commas"):
        settings_of(**{name: f"good.example,{text}" if name.endswith("HOSTS") else f"10.0.0.0/8,{text}"})


def test_entries_have_one_form() -> None:
    outbound = settings_of(
        OUTBOUND_ALLOWED_HOSTS=" N8N:5678 , Дом.Lan., [FD12::0001]:8123,fd12::1",
        OUTBOUND_ALLOWED_NETWORKS="192.168.1.77/24:8123,10.1.2.3,[FD12:0::/64]:80,fd12::1",
    ).outbound
    assert outbound.hosts == ("n8n:5678", "xn--d1aqf.lan", "[fd12::1]:8123", "fd12::1")
    assert outbound.networks == ("192.168.1.0/24:8123", "10.1.2.3/32", "[fd12::/64]:80", "fd12::1/128")


@pytest.fixture
async def webhook() -> AsyncIterator[Webhook]:
    async with serve(Webhook()) as server:
        yield server


@pytest.mark.parametrize("opened", ["OUTBOUND_ALLOWED_HOSTS", "OUTBOUND_ALLOWED_NETWORKS"])
async def test_a_request_reaches_an_opened_receiver_and_no_other(webhook: Webhook, opened: str) -> None:
    """Over real sockets and the system's own DNS."""
    where = (
        f"localhost:{webhook.port}"
        if opened.endswith("HOSTS")
        else f"127.0.0.0/8:{webhook.port},[::1]:{webhook.port}"
    )

    async def send(client: WebhookClient) -> Reason | None:
        url = f"http://localhost:{webhook.port}/alerts"
        result = await client.send(
            url, b"{}", active_secrets=[new_secret()], message_id=UUID(int=1), now=datetime.now(UTC)
        )
        return result.trouble

    for environ, is_open in (
        ({}, False),
        ({opened: where}, True),
        ({opened: where, "S3_ENDPOINT": f"http://127.0.0.1:{webhook.port}"}, False),
    ):
        client = WebhookClient(outbound_guard(settings_of(**environ)))
        assert (await send(client) is None) == is_open
        await client.close()
    assert len(webhook.requests) == 1
