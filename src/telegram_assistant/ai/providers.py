"""The installation's providers, in the order in which they are asked."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from telegram_assistant.ai.protocols import (
    ClosableEmbeddings,
    Embedded,
    Embeddings,
    Hear,
    Instruction,
    Picture,
    Provider,
    Reply,
    SharedToken,
    TextKind,
)
from telegram_assistant.domain.operations.diagnosis import Finding, bad, off, ok, warning
from telegram_assistant.domain.understanding.policy import ModelTask
from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import EmbeddingSource, Settings

INSTALL = "pip install 'telegram-assistant[ai]'"
CORRECT_BUNDLE = Reason(
    "correct_certificates", "Correct GIGACHAT_CA_BUNDLE_FILE: a PEM file with the Russian Trusted Root CA"
)
NEEDS = {
    "gigachat": ("langchain_gigachat", "gigachat"),
    "openai": ("langchain_openai", "openai"),
    "embeddings": ("openai",),
}


@dataclass(frozen=True, slots=True)
class ConfiguredProvider:
    """A provider with its models and its limits."""

    name: str
    provider: Provider
    models: Mapping[ModelTask, str]
    streams: int
    per_minute: int
    prefixes: str = ""
    """The prefixes of texts whose vectors it computes. Other prefixes give other vectors."""


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A model that answers questions about texts."""

    provider: str
    name: str


@asynccontextmanager
async def open_sources(
    settings: Settings, *, token: SharedToken
) -> AsyncIterator[tuple[ConfiguredProvider, ...]]:
    """The providers with a key, in the order of AI_PROVIDERS.

    Raises CannotStart if a provider's library is missing.
    """
    async with AsyncExitStack() as stack:
        sources = []
        for name in list_configured(settings):
            if missing_library := _missing(name):
                raise CannotStart(
                    Reason(
                        "provider_library_missing",
                        "{provider} is configured, but {missing} is not installed",
                        provider=name,
                        missing=", ".join(missing_library),
                    ),
                    remedy=Reason("install_needed", "Install what it needs: {command}", command=INSTALL),
                )
            if (complaint := _complaint_about_certificates(settings)) and name == "gigachat":
                raise CannotStart(complaint, remedy=CORRECT_BUNDLE)
            source = _gigachat(settings, token) if name == "gigachat" else _openai(settings)
            stack.push_async_callback(source.provider.close)
            sources.append(source)
        yield tuple(sources)


@asynccontextmanager
async def open_own_embeddings(settings: Settings) -> AsyncIterator[Embeddings | None]:
    """The server that the operator calls his own; None if vectors come from elsewhere."""
    if not settings.has_own_embeddings:
        yield None
        return
    if missing_library := _missing("embeddings"):
        raise CannotStart(
            Reason(
                "provider_library_missing",
                "{provider} is configured, but {missing} is not installed",
                provider="EMBEDDINGS_BASE_URL",
                missing=", ".join(missing_library),
            ),
            remedy=Reason("install_needed", "Install what it needs: {command}", command=INSTALL),
        )
    server = _EmbeddingsWhenNeeded(settings)
    try:
        yield server
    finally:
        await server.close()


def list_configured(settings: Settings) -> list[str]:
    """The providers that may get texts. A server that the operator calls his own is none."""
    has_key = {
        "gigachat": bool(settings.gigachat.credentials.get_secret_value()),
        "openai": _has_openai_chat(settings) or _has_foreign_embeddings(settings),
    }
    return [name for name in settings.ai.providers if has_key[name]]


def first_chat_model(settings: Settings) -> ChatModel | None:
    """The model that is asked first about texts; None without a provider."""
    names = [name for name in list_configured(settings) if name != "openai" or _has_openai_chat(settings)]
    return next((ChatModel(name, _about(settings, name)) for name in names), None)


def _has_openai_chat(settings: Settings) -> bool:
    return bool(settings.openai.base_url or settings.openai.api_key.get_secret_value())


def _has_foreign_embeddings(settings: Settings) -> bool:
    """Whether a server of its own makes vectors, and the operator does not call it his."""
    own = settings.embeddings
    return settings.ai.embeddings is EmbeddingSource.OPENAI and bool(own.base_url) and not own.is_own


def examine(settings: Settings) -> list[Finding]:
    """Checks the configured providers without a call, which might cost money."""
    names = list_configured(settings)
    if not names:
        return [
            off(
                "ai providers",
                Reason("no_providers", "none configured; posts are analysed on this server"),
            )
        ]
    findings = []
    for name in names:
        if missing_library := _missing(name):
            reason = Reason(
                "libraries_missing", "not installed: {libraries}", libraries=", ".join(missing_library)
            )
            findings.append(
                bad(name, reason, remedy=Reason("install_library", "install it: {command}", command=INSTALL))
            )
        else:
            findings.append(
                ok(name, Reason("provider_configured", "configured ({model})", model=_about(settings, name)))
            )
    if "gigachat" in names and (complaint := _complaint_about_certificates(settings)):
        findings.append(bad("gigachat certificates", complaint, remedy=CORRECT_BUNDLE))
    return findings


def examine_embeddings(settings: Settings) -> list[Finding]:
    """Says which server gets texts for their vectors; nothing without a server for vectors alone."""
    url, subject = settings.embeddings.base_url, "embedding server"
    if not url:
        return []
    if settings.ai.embeddings is not EmbeddingSource.OPENAI:
        reason = Reason("embedding_server_unused", "EMBEDDINGS_BASE_URL is set, but nothing asks that server")
        return [warning(subject, reason, remedy=Reason("use_embedding_server", "set AI_EMBEDDINGS=openai"))]
    model = settings.ai.embeddings_model_in_force
    if settings.has_own_embeddings:
        return [ok(subject, Reason("embedding_server_own", "{model} on a server of yours", model=model))]
    return [ok(subject, Reason("embedding_server_foreign", "{model} by a provider", model=model))]


def _complaint_about_certificates(settings: Settings) -> Reason | None:
    bundle = settings.gigachat.ca_bundle_file
    if bundle is not None:
        try:
            ssl.create_default_context(cafile=bundle)
        except (OSError, ssl.SSLError):
            return Reason(
                "certificates_unreadable", "the certificates in {bundle} cannot be read", bundle=str(bundle)
            )
    return None


def _about(settings: Settings, name: str) -> str:
    if name == "gigachat":
        return settings.gigachat.model
    return settings.openai.model if _has_openai_chat(settings) else settings.ai.embeddings_model_in_force


def _missing(name: str) -> list[str]:
    return [library for library in NEEDS[name] if find_spec(library) is None]


class _WhenNeeded:
    """A provider that loads its libraries, which takes seconds, in a thread at its first call."""

    def __init__(self, build: Callable[[], Provider]) -> None:
        self._build = build
        self._built: Provider | None = None
        self._building = asyncio.Lock()

    async def chat(
        self, instruction: Instruction, *, model: str, timeout_seconds: float, hear: Hear | None = None
    ) -> Reply:
        return await (await self._provider()).chat(
            instruction, model=model, timeout_seconds=timeout_seconds, hear=hear
        )

    async def look(
        self, instruction: Instruction, picture: Picture, *, model: str, timeout_seconds: float
    ) -> Reply:
        return await (await self._provider()).look(
            instruction, picture, model=model, timeout_seconds=timeout_seconds
        )

    async def embed(
        self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float
    ) -> Embedded:
        return await (await self._provider()).embed(texts, kind, model=model, timeout_seconds=timeout_seconds)

    async def close(self) -> None:
        if self._built is not None:
            await self._built.close()

    async def _provider(self) -> Provider:
        async with self._building:
            if self._built is None:
                self._built = await asyncio.to_thread(self._build)
        return self._built


class _EmbeddingsWhenNeeded:
    """A server for vectors whose library, which takes a second, is loaded in a thread at the first call."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._built: ClosableEmbeddings | None = None
        self._building = asyncio.Lock()

    async def embed(
        self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float
    ) -> Embedded:
        async with self._building:
            if self._built is None:
                self._built = await asyncio.to_thread(self._build)
        return await self._built.embed(texts, kind, model=model, timeout_seconds=timeout_seconds)

    async def close(self) -> None:
        if self._built is not None:
            await self._built.close()

    def _build(self) -> ClosableEmbeddings:
        module = import_module("telegram_assistant.ai.clients.embedding_server")
        built_embeddings: ClosableEmbeddings = module.EmbeddingServer(
            self._settings.embeddings, self._settings.openai
        )
        return built_embeddings


def _gigachat(settings: Settings, token: SharedToken) -> ConfiguredProvider:
    own = settings.gigachat

    def build() -> Provider:
        built_provider: Provider = import_module("telegram_assistant.ai.clients.gigachat").GigaChatProvider(
            own, token=token
        )
        return built_provider

    models = {
        ModelTask.CHAT: own.model,
        ModelTask.VISION: own.vision_model,
        **_vectors(settings, EmbeddingSource.GIGACHAT),
    }
    return ConfiguredProvider("gigachat", _WhenNeeded(build), models, own.streams_in_force, own.per_minute)


def _openai(settings: Settings) -> ConfiguredProvider:
    own = settings.openai

    def build() -> Provider:
        built_provider: Provider = import_module(
            "telegram_assistant.ai.clients.openai_compatible"
        ).OpenAiProvider(own, settings.embeddings)
        return built_provider

    models = (
        dict[ModelTask, str]() if settings.has_own_embeddings else _vectors(settings, EmbeddingSource.OPENAI)
    )
    if _has_openai_chat(settings):
        models |= {ModelTask.CHAT: own.model, ModelTask.VISION: own.vision_model or own.model}
    embeddings = settings.embeddings
    prefixes = "|".join(filter(None, (embeddings.query_prefix, embeddings.document_prefix)))
    return ConfiguredProvider("openai", _WhenNeeded(build), models, own.streams, own.per_minute, prefixes)


def _vectors(settings: Settings, by: EmbeddingSource) -> dict[ModelTask, str]:
    """The model for vectors, if this provider computes them.

    Only one does: vectors of two models are not comparable.
    """
    return (
        {ModelTask.EMBEDDINGS: settings.ai.embeddings_model_in_force} if settings.ai.embeddings is by else {}
    )
