"""The real SDKs against servers on loopback: what each variable turns, and what each failure becomes."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from telegram_assistant.ai.prices import read_prices
from telegram_assistant.ai.protocols import Fetch, Instruction, Picture, TextKind
from telegram_assistant.ai.providers import ConfiguredProvider, examine, open_sources
from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.domain.understanding.policy import Failure, ModelTask, ProviderFailed
from telegram_assistant.domain.understanding.spending import Price, Tokens
from telegram_assistant.errors import CannotStart, SettingsError
from telegram_assistant.settings import read_settings
from testkit.provider_server import CREDENTIALS, FakeServer, fake_server

TOLD = Instruction("Be brief.", "Hello", 50)
SERVERS = {"DATABASE_URL": "postgresql://u@db/x", "REDIS_URL": "redis://cache/0"}


class OwnToken:
    """For one process."""

    def __init__(self) -> None:
        self.token: str | None = None

    async def current(self) -> str | None:
        return self.token

    async def renew(self, fetch: Fetch, *, instead_of: str | None) -> str:
        assert instead_of == self.token
        self.token, _ = await fetch()
        return self.token


@asynccontextmanager
async def sources(
    variables: dict[str, str], token: OwnToken | None = None
) -> AsyncIterator[Sequence[ConfiguredProvider]]:
    async with open_sources(read_settings({**SERVERS, **variables}), token=token or OwnToken()) as opened:
        yield opened


@asynccontextmanager
async def source(
    variables: dict[str, str], token: OwnToken | None = None
) -> AsyncIterator[ConfiguredProvider]:
    async with sources(variables, token) as (configured,):
        yield configured


async def chat(configured: ConfiguredProvider, *, seconds: float = 20.0) -> str:
    reply = await configured.provider.chat(
        TOLD, model=configured.models[ModelTask.CHAT], timeout_seconds=seconds
    )
    assert reply.tokens == Tokens(10, 20)
    return reply.text


@pytest.mark.turns("GIGACHAT_CREDENTIALS")
@pytest.mark.turns("GIGACHAT_BASE_URL")
@pytest.mark.turns("GIGACHAT_AUTH_URL")
async def test_gigachat_is_asked_with_a_token_that_the_key_was_exchanged_for(server: FakeServer) -> None:
    async with sources({}) as none:
        assert none == ()
    async with source(server.gigachat()) as gigachat:
        assert json.loads(await chat(gigachat))["tags"] == []
        await chat(gigachat)
    request = server.requests[0]
    assert (request.system, request.user, request.body["max_tokens"]) == ("Be brief.", "Hello", 50)
    assert request.headers["authorization"] == f"Bearer {server.tokens[0]}"
    assert request.headers["x-session-id"] == server.requests[1].headers["x-session-id"]
    assert server.request_counts["oauth"] == 1


@pytest.mark.turns("GIGACHAT_SCOPE")
@pytest.mark.turns("GIGACHAT_STREAMS")
@pytest.mark.turns("GIGACHAT_REQUESTS_PER_MINUTE")
async def test_a_person_has_one_stream_and_a_company_ten_unless_told_otherwise(server: FakeServer) -> None:
    async with source(server.gigachat()) as person:
        assert (person.streams, person.per_minute) == (1, 0)
    async with source(
        server.gigachat(GIGACHAT_SCOPE="GIGACHAT_API_CORP", GIGACHAT_REQUESTS_PER_MINUTE="90")
    ) as company:
        assert (company.streams, company.per_minute) == (10, 90)
        await chat(company)
    async with source(server.gigachat(GIGACHAT_SCOPE="GIGACHAT_API_CORP", GIGACHAT_STREAMS="25")) as large:
        assert large.streams == 25
    assert server.scopes == ["GIGACHAT_API_CORP"]


@pytest.mark.turns("GIGACHAT_MODEL")
@pytest.mark.turns("GIGACHAT_VISION_MODEL")
async def test_texts_and_pictures_go_to_their_models(server: FakeServer) -> None:
    async with source(
        server.gigachat(GIGACHAT_MODEL="GigaChat-2-Max", GIGACHAT_VISION_MODEL="GigaChat-2-Max-preview")
    ) as gigachat:
        await chat(gigachat)
        await gigachat.provider.look(
            TOLD,
            Picture(b"\xff\xd8", "image/jpeg"),
            model=gigachat.models[ModelTask.VISION],
            timeout_seconds=20,
        )
    assert [request.body["model"] for request in server.requests] == [
        "GigaChat-2-Max",
        "GigaChat-2-Max-preview",
    ]


async def test_a_picture_is_deleted_even_when_the_question_fails_and_only_jpeg_and_png_are_sent(
    server: FakeServer,
) -> None:
    server.status = 500
    async with source(server.gigachat()) as gigachat:
        with pytest.raises(ProviderFailed, match="outage"):
            await gigachat.provider.look(
                TOLD, Picture(b"\xff\xd8", "image/jpeg"), model="GigaChat-2-Pro", timeout_seconds=20
            )
        for refused in (Picture(b"RIFF", "image/webp"), Picture(bytes(15_000_001), "image/png")):
            with pytest.raises(ProviderFailed, match="refused: GigaChat takes jpeg and png"):
                await gigachat.provider.look(TOLD, refused, model="GigaChat-2-Pro", timeout_seconds=20)
    assert server.names[0].endswith(".jpg")
    assert (server.request_counts["upload"], server.request_counts["delete"], server.files) == (1, 1, {})


async def test_a_token_that_is_no_longer_accepted_is_renewed_once(server: FakeServer) -> None:
    token = OwnToken()
    token.token = "expired"
    async with source(server.gigachat(), token) as gigachat:
        await chat(gigachat)
    assert (
        server.request_counts["refused"],
        server.request_counts["oauth"],
        server.request_counts["chat"],
    ) == (1, 1, 1)


async def test_a_wrong_key_is_a_refusal_and_is_repeated_nowhere(server: FakeServer) -> None:
    async with source(server.gigachat(GIGACHAT_CREDENTIALS="d3JvbmdrZXk=")) as gigachat:
        with pytest.raises(ProviderFailed, match="refused") as failed:
            await chat(gigachat)
    assert "d3JvbmdrZXk" not in str(failed.value)


@pytest.mark.parametrize("kind", ["gigachat", "openai"])
@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (402, Failure.NO_MONEY),
        (429, Failure.RATE),
        (500, Failure.OUTAGE),
        (503, Failure.OUTAGE),
        (413, Failure.REFUSED),
        (422, Failure.REFUSED),
    ],
)
async def test_every_refusal_has_its_name_and_repeats_no_text(
    server: FakeServer, kind: str, status: int, failure: Failure
) -> None:
    server.status, server.headers = status, {"Retry-After": "7"}
    async with source(getattr(server, kind)()) as configured:
        with pytest.raises(ProviderFailed) as failed:
            await chat(configured)
    assert failed.value.failure == failure
    assert failed.value.retry_after_seconds == (7 if status == 429 else 0)
    assert "Hello" not in str(failed.value)
    assert server.calls == 1


@pytest.mark.parametrize("kind", ["gigachat", "openai"])
async def test_a_silent_server_is_late_and_an_absent_one_is_out(server: FakeServer, kind: str) -> None:
    variables = getattr(server, kind)()
    async with source(variables) as configured:
        await chat(configured)
        server.hangs = True
        with pytest.raises(ProviderFailed, match="late"):
            await chat(configured, seconds=0.3)
    absent = {name: value.replace(server.url, "http://127.0.0.1:1") for name, value in variables.items()}
    async with source(absent) as configured:
        with pytest.raises(ProviderFailed, match="outage"):
            await chat(configured)


@pytest.mark.parametrize(("kind", "reason"), [("gigachat", "blacklist"), ("openai", "content_filter")])
async def test_what_a_provider_does_not_speak_about_is_marked(
    server: FakeServer, kind: str, reason: str
) -> None:
    server.finish_reason = reason
    async with source(getattr(server, kind)()) as configured:
        reply = await configured.provider.chat(
            TOLD, model=configured.models[ModelTask.CHAT], timeout_seconds=20
        )
    assert reply.is_blacklisted


@pytest.mark.turns("OPENAI_BASE_URL")
@pytest.mark.turns("OPENAI_API_KEY")
@pytest.mark.turns("OPENAI_MODEL")
@pytest.mark.turns("OPENAI_VISION_MODEL")
async def test_any_openai_compatible_server_is_asked_with_or_without_a_key(server: FakeServer) -> None:
    async with sources({"OPENAI_API_KEY": "k3y"}) as (openai,):
        assert openai.models == {ModelTask.CHAT: "gpt-4o-mini", ModelTask.VISION: "gpt-4o-mini"}
    async with source(server.openai()) as own:
        await chat(own)
    async with source(
        server.openai(OPENAI_API_KEY="k3y", OPENAI_MODEL="qwen", OPENAI_VISION_MODEL="llava")
    ) as keyed:
        await chat(keyed)
        await keyed.provider.look(
            TOLD, Picture(b"\xff\xd8", "image/jpeg"), model=keyed.models[ModelTask.VISION], timeout_seconds=20
        )
    assert [request.headers["authorization"] for request in server.requests] == [
        "Bearer none",
        "Bearer k3y",
        "Bearer k3y",
    ]
    assert [request.body["model"] for request in server.requests] == ["gpt-4o-mini", "qwen", "llava"]
    assert server.requests[0].body["max_tokens"] == 50
    assert (
        server.requests[2].body["messages"][1]["content"][1]["image_url"]["url"]
        == "data:image/jpeg;base64,/9g="
    )


@pytest.mark.turns("OPENAI_STREAMS")
@pytest.mark.turns("OPENAI_REQUESTS_PER_MINUTE")
async def test_limits_of_an_openai_compatible_server_are_the_operators(server: FakeServer) -> None:
    async with (
        source(server.openai()) as usual,
        source(server.openai(OPENAI_STREAMS="32", OPENAI_REQUESTS_PER_MINUTE="500")) as large,
    ):
        assert ((usual.streams, usual.per_minute), (large.streams, large.per_minute)) == ((4, 0), (32, 500))


@pytest.mark.turns("AI_PROVIDERS")
async def test_providers_are_asked_in_the_order_that_was_written(server: FakeServer) -> None:
    both = {**server.gigachat(), **server.openai()}
    for written, order in (
        ("", ["gigachat", "openai"]),
        ("openai, gigachat", ["openai", "gigachat"]),
        ("openai", ["openai"]),
    ):
        async with sources({**both, "AI_PROVIDERS": written}) as opened:
            assert [configured.name for configured in opened] == order
    with pytest.raises(SettingsError, match="AI_PROVIDERS is wrong: write gigachat, openai"):
        read_settings({**SERVERS, "AI_PROVIDERS": "chatgpt"})


@pytest.mark.turns("AI_EMBEDDINGS")
@pytest.mark.turns("AI_EMBEDDINGS_MODEL")
@pytest.mark.parametrize(
    ("kind", "usual"), [("gigachat", "Embeddings"), ("openai", "text-embedding-3-small")]
)
async def test_vectors_are_made_by_the_one_provider_that_was_chosen(
    server: FakeServer, kind: str, usual: str
) -> None:
    both = {**server.gigachat(), **server.openai(), "AI_EMBEDDINGS": kind}
    for wished in ("", "EmbeddingsGigaR"):
        async with sources({**both, "AI_EMBEDDINGS_MODEL": wished}) as opened:
            (maker,) = [configured for configured in opened if ModelTask.EMBEDDINGS in configured.models]
            assert maker.name == kind
            made = await maker.provider.embed(
                ["a", "four"], TextKind.DOCUMENT, model=maker.models[ModelTask.EMBEDDINGS], timeout_seconds=20
            )
            assert [vector[0] for vector in made.vectors] == [1.0, 4.0]
            assert made.tokens.sent > 0
    assert server.names == [usual, "EmbeddingsGigaR"]


async def test_a_question_to_gigar_is_told_to_be_one(server: FakeServer) -> None:
    async with source(server.gigachat()) as gigachat:
        made = [
            await gigachat.provider.embed(["снег"], kind, model=model, timeout_seconds=20)
            for model, kind in (
                ("EmbeddingsGigaR", TextKind.QUERY),
                ("EmbeddingsGigaR", TextKind.DOCUMENT),
                ("Embeddings", TextKind.QUERY),
            )
        ]
    assert [reply.vectors[0][0] > 4 for reply in made] == [True, False, False]


def certificate_of_our_own(folder: Path) -> tuple[Path, Path]:
    """A server's certificate with its key, and the authority that nobody knows."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Trusted Root CA of a test")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(
            name,
            name,
            key.public_key(),
            x509.random_serial_number(),
            now - timedelta(days=1),
            now + timedelta(days=1),
        )
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public = signed.public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    server, authority = folder / "server.pem", folder / "authority.pem"
    server.write_bytes(private + public)
    authority.write_bytes(public)
    return server, authority


@pytest.mark.turns("GIGACHAT_CA_BUNDLE_FILE")
async def test_certificates_are_verified_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIGACHAT_VERIFY_SSL_CERTS", "false")  # what much public advice says
    certificate, authority = certificate_of_our_own(tmp_path)
    async with fake_server(certificate=certificate) as server:
        async with source(server.gigachat()) as strict:
            with pytest.raises(ProviderFailed, match="is GIGACHAT_CA_BUNDLE_FILE set"):
                await chat(strict)
        async with source(server.gigachat(GIGACHAT_CA_BUNDLE_FILE=str(authority))) as trusting:
            await chat(trusting)
        with pytest.raises(CannotStart, match="Correct GIGACHAT_CA_BUNDLE_FILE"):
            async with source(server.gigachat(GIGACHAT_CA_BUNDLE_FILE=str(tmp_path / "none.pem"))):
                pass
    assert server.request_counts["oauth"] == 1


async def test_langchains_own_tracing_hears_nothing(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with fake_server() as listening:
        for name, value in {
            "LANGSMITH_TRACING": "true",
            "LANGSMITH_ENDPOINT": listening.url,
            "LANGSMITH_API_KEY": "x",
        }.items():
            monkeypatch.setenv(name, value)
        for variables in (server.gigachat(), server.openai()):
            async with source(variables) as configured:
                await chat(configured)
        await asyncio.sleep(0.1)
        assert listening.request_counts.total() == 0
    assert server.calls == 2


@pytest.mark.turns("AI_PRICES_FILE")
def test_prices_are_a_dated_list_that_an_operator_may_replace(tmp_path: Path) -> None:
    ours = read_prices(None)
    assert (
        ours.price_of("gigachat", "GigaChat-2-Max").sent_micro
        > ours.price_of("gigachat", "GigaChat-2").sent_micro
        > 0
    )
    assert ours.price_of("gigachat", "a model of tomorrow") == ours.price_of("gigachat", "*")
    file = tmp_path / "prices.toml"
    file.write_text(
        'as_of = 2026-10-01\nunit = "USD"\n[openai."gpt-4o-mini"]\nsent = 0.15\nreceived = 0.6\n',
        encoding="utf-8",
    )
    own = read_prices(read_settings({**SERVERS, "AI_PRICES_FILE": str(file)}).ai.prices)
    assert own.price_of("openai", "gpt-4o-mini") == Price(150_000, 600_000)
    assert own.price_of("openai", "another") == Price()
    file.write_text("nonsense", encoding="utf-8")
    with pytest.raises(CannotStart, match="Correct AI_PRICES_FILE"):
        read_prices(file)


def test_the_doctor_says_what_is_configured_and_sends_nothing(server: FakeServer, tmp_path: Path) -> None:
    (nothing,) = examine(read_settings(SERVERS))
    assert nothing.verdict is Severity.OFF
    findings = examine(
        read_settings(
            {**SERVERS, **server.gigachat(GIGACHAT_CA_BUNDLE_FILE=str(tmp_path / "x")), **server.openai()}
        )
    )
    assert [finding.verdict for finding in findings] == [Severity.OK, Severity.OK, Severity.BAD]
    assert CREDENTIALS not in repr(findings)
    assert server.request_counts.total() == 0
