"""The installation's providers, in the order in which they are asked."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from telegram_assistant.ai.protocols import (
    Embedded,
    Hear,
    Instruction,
    Picture,
    Provider,
    Reply,
    SharedToken,
    TextKind,
)
from telegram_assistant.domain.operations.diagnosis import Finding, bad, off, ok
from telegram_assistant.domain.understanding.policy import ModelTask
from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import EmbeddingSource, Settings

INSTALL = "pip install 'telegram-assistant[ai]'"
CORRECT_BUNDLE = Reason(
    "correct_certificates", "Correct GIGACHAT_CA_BUNDLE_FILE: a PEM file with the Russian Trusted Root CA"
)
NEEDS = {"gigachat": ("langchain_gigachat", "gigachat"), "openai": ("langchain_openai", "openai")}


@dataclass(frozen=True, slots=True)
class ConfiguredProvider:
    """A provider with its models and its limits."""

    name: str
    provider: Provider
    models: Mapping[ModelTask, str]
    streams: int
    per_minute: int


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
        for name in configured(settings):
            if missing := _missing(name):
                raise CannotStart(
                    Reason(
                        "provider_library_missing",
                        "{provider} is configured, and {missing} not installed",
                        provider=name,
                        missing=", ".join(missing),
                    ),
                    remedy=Reason("install_needed", "Install what it needs: {command}", command=INSTALL),
                )
            if (complaint := _complaint_about_certificates(settings)) and name == "gigachat":
                raise CannotStart(complaint, remedy=CORRECT_BUNDLE)
            source = _gigachat(settings, token) if name == "gigachat" else _openai(settings)
            stack.push_async_callback(source.provider.close)
            sources.append(source)
        yield tuple(sources)


def configured(settings: Settings) -> list[str]:
    has_key = {
        "gigachat": bool(settings.gigachat.credentials.get_secret_value()),
        "openai": bool(settings.openai.base_url or settings.openai.api_key.get_secret_value()),
    }
    return [name for name in settings.ai.providers if has_key[name]]


def first_chat_model(settings: Settings) -> ChatModel | None:
    """The model that is asked first about texts; None without a provider."""
    return next((ChatModel(name, _about(settings, name)) for name in configured(settings)), None)


def examine(settings: Settings) -> list[Finding]:
    """Checks the configured providers without a call, which might cost money."""
    names = configured(settings)
    if not names:
        return [
            off(
                "ai providers",
                Reason("no_providers", "none configured; posts are understood on this machine"),
            )
        ]
    findings = []
    for name in names:
        if missing := _missing(name):
            what = Reason("libraries_missing", "not installed: {libraries}", libraries=", ".join(missing))
            findings.append(
                bad(name, what, remedy=Reason("install_library", "install it: {command}", command=INSTALL))
            )
        else:
            findings.append(
                ok(name, Reason("provider_configured", "configured ({model})", model=_about(settings, name)))
            )
    if "gigachat" in names and (complaint := _complaint_about_certificates(settings)):
        findings.append(bad("gigachat certificates", complaint, remedy=CORRECT_BUNDLE))
    return findings


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
    return settings.gigachat.model if name == "gigachat" else settings.openai.model


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


def _gigachat(settings: Settings, token: SharedToken) -> ConfiguredProvider:
    own = settings.gigachat

    def build() -> Provider:
        built: Provider = import_module("telegram_assistant.ai.clients.gigachat").GigaChatProvider(
            own, token=token
        )
        return built

    models = {
        ModelTask.CHAT: own.model,
        ModelTask.VISION: own.vision_model,
        **_vectors(settings, EmbeddingSource.GIGACHAT),
    }
    return ConfiguredProvider("gigachat", _WhenNeeded(build), models, own.streams_in_force, own.per_minute)


def _openai(settings: Settings) -> ConfiguredProvider:
    own = settings.openai

    def build() -> Provider:
        built: Provider = import_module("telegram_assistant.ai.clients.openai_compatible").OpenAiProvider(own)
        return built

    models = {
        ModelTask.CHAT: own.model,
        ModelTask.VISION: own.vision_model or own.model,
        **_vectors(settings, EmbeddingSource.OPENAI),
    }
    return ConfiguredProvider("openai", _WhenNeeded(build), models, own.streams, own.per_minute)


def _vectors(settings: Settings, by: EmbeddingSource) -> dict[ModelTask, str]:
    """The model for vectors, if this provider computes them.

    Only one does: vectors of two models are not comparable.
    """
    return (
        {ModelTask.EMBEDDINGS: settings.ai.embeddings_model_in_force} if settings.ai.embeddings is by else {}
    )
