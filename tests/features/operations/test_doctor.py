"""The findings of `tga doctor` and of the page Operations."""

import asyncio
import re

import pytest

from telegram_assistant.domain.operations.diagnosis import Finding, Severity
from telegram_assistant.domain.tenants.access import new_operator_key
from telegram_assistant.features.operations.doctor import (
    examine,
    examine_operator_key,
    examine_pages,
    examine_secret_key,
    examine_settings,
)
from telegram_assistant.pipeline import WITH_GRAPH
from telegram_assistant.settings import read_settings
from telegram_assistant.translation import translate
from testkit.engines import free_port

NEEDED = {"DATABASE_URL": "postgresql://localhost/tga", "REDIS_URL": "redis://localhost/0"}


def examine_key(key: str) -> Finding:
    return examine_operator_key(read_settings({**NEEDED, "OPERATOR_KEY": key}))


@pytest.mark.parametrize(
    "key", ["1", "the-operators-own-key", "x" * 31, "x" * 200, "1234567890" * 5, "password" * 8]
)
def test_an_operator_key_that_can_be_guessed_is_red(key: str) -> None:
    finding = examine_key(key)
    assert finding.verdict is Severity.BAD
    assert "tga keys operator" in str(finding.remedy)
    assert key not in str(finding.what).split()


@pytest.mark.parametrize(
    ("base_url", "proxies", "verdict"),
    [
        ("https://news.example", "", Severity.BAD),
        ("https://news.example", "172.18.0.1", Severity.OK),
        ("http://news.example", "", Severity.OK),
        ("", "", Severity.OFF),
    ],
)
def test_pages_on_https_without_a_trusted_proxy_are_red(
    base_url: str, proxies: str, verdict: Severity
) -> None:
    assert (
        examine_pages(read_settings({**NEEDED, "BASE_URL": base_url, "TRUSTED_PROXIES": proxies})).verdict
        is verdict
    )


def test_a_random_operator_key_is_green_and_none_is_fine() -> None:
    for key in (
        new_operator_key(),
        "9f86d081884c7d659a2feaa0c55ad015",
        "3xT-9kQ_7mV2bN8cY4hJ6sD1fG0aZ5wLrE-pUiOtKyXq",
    ):
        assert examine_key(key).verdict is Severity.OK
    assert examine_key("").verdict is Severity.OFF


@pytest.mark.parametrize(
    ("key", "verdict"),
    [
        ("", Severity.OFF),
        ("secret", Severity.BAD),
        ("x" * 200, Severity.BAD),
        ("9f86d081884c7d659a2feaa0c55ad015", Severity.OK),
    ],
)
def test_a_secret_key_that_can_be_guessed_is_red_and_none_is_fine(key: str, verdict: Severity) -> None:
    finding = examine_secret_key(read_settings({**NEEDED, "SECRET_KEY": key}))
    assert finding.verdict is verdict
    assert (finding.remedy is not None) == (verdict is Severity.BAD)


def examine_outbound(**environ: str) -> list[Finding]:
    return [
        finding
        for finding in examine_settings(read_settings({**NEEDED, **environ}))
        if finding.subject == "webhooks"
    ]


def test_one_line_tells_what_webhooks_reach() -> None:
    (closed,) = examine_outbound()
    assert (closed.verdict, str(closed.what)) == (Severity.OFF, "webhooks can reach only the public web")
    (opened,) = examine_outbound(
        OUTBOUND_ALLOWED_HOSTS="n8n:5678,mattermost.corp", OUTBOUND_ALLOWED_NETWORKS="192.168.1.0/24"
    )
    assert opened.verdict is Severity.OK
    assert str(opened.what).endswith("n8n:5678, mattermost.corp, 192.168.1.0/24")


@pytest.mark.parametrize(
    ("environ", "code"),
    [
        ({"OUTBOUND_ALLOWED_NETWORKS": "0.0.0.0/0"}, "outbound_too_wide"),
        ({"OUTBOUND_ALLOWED_NETWORKS": "[::/0]:8123"}, "outbound_too_wide"),
        ({"OUTBOUND_ALLOWED_NETWORKS": "127.0.0.0/8"}, "outbound_loopback"),
        ({"OUTBOUND_ALLOWED_NETWORKS": "::1"}, "outbound_loopback"),
        ({"OUTBOUND_ALLOWED_HOSTS": "localhost:5678"}, "outbound_loopback"),
        ({"OUTBOUND_ALLOWED_HOSTS": "127.0.0.5"}, "outbound_loopback"),
        ({"OUTBOUND_ALLOWED_HOSTS": "localhost:5432"}, "outbound_without_effect"),
        ({"OUTBOUND_ALLOWED_NETWORKS": "10.0.0.0/8:6379"}, "outbound_without_effect"),
    ],
)
def test_an_opening_that_is_too_wide_or_without_effect_is_a_warning(
    environ: dict[str, str], code: str
) -> None:
    opened, doubt = examine_outbound(**environ, DATABASE_URL="postgresql://localhost/tga")
    assert opened.verdict is Severity.OK
    assert (doubt.verdict, doubt.what.code) == (Severity.WARNING, code)
    assert doubt.remedy is not None


async def test_no_finding_holds_a_secret_and_all_are_said_in_russian() -> None:
    """Nothing answers, and every password is another word that must not appear."""
    port = free_port()
    environ = {
        "DATABASE_URL": f"postgresql://tga_api:hidden-postgres@127.0.0.1:{port}/tga",
        "REDIS_URL": f"redis://reader:hidden-redis@127.0.0.1:{port}/0",
        "S3_ENDPOINT": f"http://127.0.0.1:{port}",
        "S3_BUCKET": "media",
        "S3_ACCESS_KEY_ID": "hidden-key-id",
        "S3_SECRET_ACCESS_KEY": "hidden-s3",
        "NEO4J_URI": f"bolt://127.0.0.1:{port}",
        "NEO4J_PASSWORD": "hidden-neo4j",
        "QDRANT_URL": f"http://127.0.0.1:{port}",
        "QDRANT_API_KEY": "hidden-qdrant",
        "TELEGRAM_API_ID": "17349",
        "TELEGRAM_API_HASH": "hidden-hash",
        "TELEGRAM_SESSION_STRING": "hidden-session",
        "OPERATOR_KEY": "hidden-operator",
        "OPENAI_API_KEY": "hidden-openai",
        "GIGACHAT_AUTH_KEY": "hidden-gigachat",
        "GIGACHAT_CA_BUNDLE_FILE": "/nowhere/bundle.pem",
    }
    findings = [finding async for finding in examine(read_settings(environ), stages=WITH_GRAPH)]
    wrong = {finding.subject for finding in findings if finding.verdict is Severity.BAD}
    assert {
        "postgres",
        "redis",
        "files",
        "neo4j",
        "vectors",
        "telegram application",
        "telegram sessions",
        "operator key",
    } <= wrong
    for finding in findings:
        sentences = [
            f"{finding.what} {finding.remedy}",
            *(translate(reason, "ru") for reason in (finding.what, finding.remedy) if reason),
        ]
        assert "hidden" not in " ".join(sentences), finding
        assert not finding.remedy or re.search("[а-я]", sentences[-1]), finding


async def test_a_check_that_hangs_ends_and_the_others_are_told() -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        settings = read_settings(
            {
                "DATABASE_URL": f"postgresql://tga@127.0.0.1:{free_port()}/tga",
                "REDIS_URL": f"redis://127.0.0.1:{port}/0",
            }
        )
        findings = {
            finding.subject: finding
            async for finding in examine(settings, stages=WITH_GRAPH, max_seconds=2.0)
        }
    assert findings["redis"].what.code == "check_too_slow"
    assert findings["postgres"].what.code == "postgres_at_silent"
    assert findings["python"].verdict is Severity.OK
