"""Webhooks never reach the servers of the installation,
whatever the operator opens and whatever name or address leads there.
"""

from ipaddress import IPv4Address, ip_address

import pytest

from telegram_assistant.outbound.addresses import is_of_this_machine
from telegram_assistant.outbound.openings import own_servers
from tests.outbound.test_openings import PUBLIC, guard_of, reach, refusal, settings_of

EVERY_INTERFACE = str(IPv4Address(0))
OWN = {
    "DATABASE_URL": "postgresql://u:p@db:5432/x",
    "DATABASE_ADMIN_URL": "postgresql://u:p@first:5433,second/x",
    "REDIS_URL": "redis://localhost/0",
    "S3_ENDPOINT": "http://minio:9000",
    "QDRANT_URL": "http://qdrant",
    "NEO4J_URI": "neo4j+s://graph",
    "CRAWLER_ADDRESS": "crawler:8013",
    "SMTP_HOST": "mail.corp",
    "OPENAI_BASE_URL": "http://ollama:11434/v1",
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318",
    "TELEGRAM_PROXY_ADDR": "proxy",
    "HTTP_HOST": EVERY_INTERFACE,
    "API_OPERATIONS_PORT": "9000",
    "ALLOWED_HOSTS": "worker",
}
OWN_NAMES = {"localhost": ["127.0.0.1", "::1"]} | {
    name: [f"10.0.0.{number}"]
    for number, name in enumerate(
        (
            "db",
            "first",
            "second",
            "minio",
            "qdrant",
            "graph",
            "crawler",
            "mail.corp",
            "ollama",
            "collector",
            "proxy",
            "worker",
        ),
        1,
    )
}


def test_the_servers_of_an_installation_are_those_of_its_settings() -> None:
    assert {server for server in own_servers(settings_of(**OWN)) if server[0] != EVERY_INTERFACE} == {
        ("db", 5432),
        ("first", 5433),
        ("second", 5432),
        ("localhost", 6379),
        ("minio", 9000),
        ("qdrant", 80),
        ("qdrant", 6333),
        ("graph", 7687),
        ("crawler", 8013),
        ("mail.corp", 587),
        ("ollama", 11434),
        ("collector", 4318),
        ("proxy", 1080),
    }
    assert {port for host, port in own_servers(settings_of(**OWN)) if host == EVERY_INTERFACE} == {
        8011,
        8012,
        8000,
        9000,
    }
    sockets = settings_of(DATABASE_URL="postgresql:///x?host=/run/postgresql", REDIS_URL="redis:///0")
    assert {host for host, _ in own_servers(sockets)} == {"localhost", "127.0.0.1"}


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("db", 5432),
        ("first", 5433),
        ("localhost", 6379),
        ("minio", 9000),
        ("qdrant", 6333),
        ("qdrant", 80),
        ("graph", 7687),
        ("crawler", 8013),
        ("mail.corp", 587),
        ("ollama", 11434),
        ("collector", 4318),
        ("proxy", 1080),
        ("worker", 8012),
    ],
)
async def test_no_setting_opens_a_server_of_the_installation(host: str, port: int) -> None:
    (address, *_) = OWN_NAMES[host]
    opened = f"{host}:{port},{address}:{port},alias.corp:{port}"
    networks = f"0.0.0.0/0:{port},[::/0]:{port}"
    guard = guard_of(
        {**OWN_NAMES, "alias.corp": [address]},
        **OWN,
        OUTBOUND_ALLOWED_HOSTS=opened,
        OUTBOUND_ALLOWED_NETWORKS=networks,
    )
    assert (await refusal(guard, f"http://{host}:{port}/")).code == "outbound_never"
    if host != "worker":  # a role is known by its names only: it may run nowhere
        for url in (f"http://{address}:{port}/", f"http://alias.corp:{port}/"):
            assert (await refusal(guard, url)).code == "outbound_never", url


@pytest.mark.parametrize(
    "alias", ["127.0.0.1", "127.0.0.2", "127.255.255.254", "[::1]", "localhost", "db.home"]
)
async def test_every_address_of_this_machine_leads_to_the_servers_on_it(alias: str) -> None:
    hosts = f"{alias}:5432,{alias}:5555,{alias}:8012"
    names = {"localhost": ["::1"], "db.home": ["127.0.1.1"]}
    environ = {
        "DATABASE_URL": "postgresql://u:p@localhost/x",
        "HTTP_HOST": EVERY_INTERFACE,
        "OUTBOUND_ALLOWED_HOSTS": hosts,
    }
    guard = guard_of(names, **environ)
    assert (await refusal(guard, f"http://{alias}:5432/")).code == "outbound_never"
    assert (await refusal(guard, f"http://{alias}:8012/")).code == "outbound_never"
    assert await reach(guard, f"http://{alias}:5555/")


async def test_a_network_never_opens_a_port_of_our_own_servers() -> None:
    """A server has more addresses than its name leads to: a gateway, a published port, a pod."""
    guard = guard_of(
        {"db.example": ["10.0.0.1"]},
        OUTBOUND_ALLOWED_NETWORKS="10.0.0.0/8:5432",
        OUTBOUND_ALLOWED_HOSTS="other.corp:5432",
    )
    assert (await refusal(guard, "http://10.9.9.9:5432/")).code == "outbound_not_opened"
    named = guard_of(
        {"db.example": ["10.0.0.1"], "other.corp": ["10.9.9.9"]}, OUTBOUND_ALLOWED_HOSTS="other.corp:5432"
    )
    assert await reach(named, "http://other.corp:5432/")


async def test_a_receiver_beside_our_own_server_on_the_public_web_is_reached() -> None:
    """One address serves many sites there, and the name of the site decides which one answers."""
    names = {"s3.example.org": [PUBLIC], "n8n.example.org": [PUBLIC], "db.example": ["10.0.0.1"]}
    guard = guard_of(names, S3_ENDPOINT="https://s3.example.org")
    assert await reach(guard, "https://n8n.example.org/")
    assert (await refusal(guard, "https://s3.example.org/bucket")).code == "outbound_never"


async def test_nothing_private_is_reached_while_our_own_servers_cannot_be_compared() -> None:
    guard = guard_of(
        {"n8n": ["10.0.0.7"]}, S3_ENDPOINT="http://minio:5678", OUTBOUND_ALLOWED_HOSTS="n8n:5678"
    )
    why = await refusal(guard, "http://n8n:5678/")
    assert why.code == "outbound_check_failed"
    assert "minio" not in str(why)


def test_an_address_of_this_machine_is_known() -> None:
    assert is_of_this_machine(ip_address("127.0.0.1"))
    assert is_of_this_machine(ip_address("127.9.9.9"))
    assert is_of_this_machine(ip_address(EVERY_INTERFACE))
    assert not is_of_this_machine(ip_address("192.0.2.1"))
    assert not is_of_this_machine(ip_address("2001:db8::1"))
