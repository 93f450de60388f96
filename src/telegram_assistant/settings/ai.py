"""Models: local ones and providers."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, SecretStr, ValidationInfo

from telegram_assistant.settings.declaring import SettingsGroup, variable, web_address


def _split_providers(text: str) -> tuple[str, ...]:
    names = [name.strip() for name in text.split(",")]
    if len(set(names)) != len(names) or not set(names) <= {"gigachat", "openai"}:
        raise ValueError("write gigachat, openai, or both separated by a comma; the first one is asked first")
    return tuple(names)


class EmbeddingSource(StrEnum):
    """The source of embeddings.

    The whole installation has one source: vectors of two models cannot be compared.
    """

    LOCAL = "local"
    GIGACHAT = "gigachat"
    OPENAI = "openai"


class GigaChatScope(StrEnum):
    """The kind of customer that the key belongs to."""

    PERSON = "GIGACHAT_API_PERS"
    COMPANY_PREPAID = "GIGACHAT_API_B2B"
    COMPANY_POSTPAID = "GIGACHAT_API_CORP"


class GigaChatSettings(SettingsGroup):
    """GigaChat, a provider of chat, vision and embeddings. Optional."""

    credentials: SecretStr = variable(
        "GIGACHAT_CREDENTIALS",
        SecretStr(""),
        help="Authorization key of a GigaChat project. Empty: GigaChat is off.",
    )
    scope: GigaChatScope = variable(
        "GIGACHAT_SCOPE",
        GigaChatScope.PERSON,
        help="GIGACHAT_API_PERS (individual), GIGACHAT_API_B2B (prepaid) or GIGACHAT_API_CORP (postpaid).",
    )
    model: str = variable("GIGACHAT_MODEL", "GigaChat-2", help="Model for text.")
    vision_model: str = variable(
        "GIGACHAT_VISION_MODEL", "GigaChat-2-Pro", help="Model for pictures; Lite models cannot process them."
    )
    ca_bundle_file: Path | None = variable(
        "GIGACHAT_CA_BUNDLE_FILE",
        None,
        help="PEM file of the Russian Trusted Root CA, which signs GigaChat's certificates. "
        "These are always verified.",
    )
    base_url: str = variable("GIGACHAT_BASE_URL", "https://api.giga.chat/v1", help="URL of the GigaChat API.")
    auth_url: str = variable(
        "GIGACHAT_AUTH_URL",
        "https://ngw.devices.sberbank.ru:9443/api/v2/oauth",
        help="URL that issues GigaChat access tokens.",
    )
    streams: int = variable(
        "GIGACHAT_STREAMS",
        0,
        help="Maximum number of concurrent calls, across all processes. 0: 1 for an individual, "
        "10 for a company.",
        ge=0,
        le=1000,
    )
    per_minute: int = variable(
        "GIGACHAT_REQUESTS_PER_MINUTE",
        0,
        help="Maximum number of calls per minute, across all processes. 0: no limit.",
        ge=0,
    )

    @property
    def streams_in_force(self) -> int:
        """GIGACHAT_STREAMS, or the number of concurrent calls that Sber grants to this kind of customer."""
        return self.streams or (1 if self.scope is GigaChatScope.PERSON else 10)


class OpenAiSettings(SettingsGroup):
    """Any server that speaks OpenAI's protocol: OpenAI, vLLM, Ollama, llama.cpp. Optional."""

    base_url: str = variable(
        "OPENAI_BASE_URL",
        "",
        help="URL of the API, with /v1. Empty: OpenAI itself, if OPENAI_API_KEY is set.",
    )
    api_key: SecretStr = variable(
        "OPENAI_API_KEY",
        SecretStr(""),
        help="API key; self-hosted servers usually need none. OPENAI_BASE_URL and key both empty: "
        "this provider is off.",
    )
    model: str = variable("OPENAI_MODEL", "gpt-4o-mini", help="Model for text.")
    vision_model: str = variable("OPENAI_VISION_MODEL", "", help="Model for pictures. Empty: OPENAI_MODEL.")
    streams: int = variable(
        "OPENAI_STREAMS", 4, help="Maximum number of concurrent calls, across all processes.", ge=1, le=1000
    )
    per_minute: int = variable(
        "OPENAI_REQUESTS_PER_MINUTE",
        0,
        help="Maximum number of calls per minute, across all processes. 0: no limit.",
        ge=0,
    )


def _own_server(is_own: bool, info: ValidationInfo) -> bool:  # noqa: FBT001 -- as pydantic calls it
    if is_own and not info.data.get("base_url"):
        raise ValueError("set EMBEDDINGS_BASE_URL, too: the server of OPENAI_BASE_URL stays a provider")
    return is_own


class EmbeddingsSettings(SettingsGroup):
    """The server that makes embeddings with AI_EMBEDDINGS=openai. Optional."""

    base_url: Annotated[str, AfterValidator(web_address)] = variable(
        "EMBEDDINGS_BASE_URL",
        "",
        help="URL of a server for embeddings alone that speaks OpenAI's protocol, with /v1: TEI, vLLM, "
        "Ollama. Empty: OPENAI_BASE_URL.",
    )
    api_key: SecretStr = variable(
        "EMBEDDINGS_API_KEY",
        SecretStr(""),
        help="API key for EMBEDDINGS_BASE_URL, which never gets OPENAI_API_KEY. Own servers usually need "
        "none.",
    )
    is_own: Annotated[bool, AfterValidator(_own_server)] = variable(
        "EMBEDDINGS_IS_OWN",
        default=False,
        help="Whether the server at EMBEDDINGS_BASE_URL is yours. Then it counts as this machine: it gets "
        "posts of channels with the policy local, without consent or budget. Only for embeddings.",
    )
    query_prefix: str = variable(
        "EMBEDDINGS_QUERY_PREFIX",
        "",
        help='Text before each query that the server gets, as its model needs it, like "query: ".',
    )
    document_prefix: str = variable(
        "EMBEDDINGS_DOCUMENT_PREFIX",
        "",
        help='Text before each post that the server gets, as its model needs it, like "passage: ".',
    )


class AiSettings(SettingsGroup):
    """How posts are analysed. Without a provider, local models and rules do it."""

    providers: Annotated[tuple[str, ...], BeforeValidator(_split_providers)] = variable(
        "AI_PROVIDERS",
        ("gigachat", "openai"),
        help="Providers in the order in which they are asked, separated by commas. "
        "Providers that are not configured are skipped.",
    )
    embeddings: EmbeddingSource = variable(
        "AI_EMBEDDINGS", EmbeddingSource.LOCAL, help="Source of embeddings: local, gigachat or openai."
    )
    embeddings_model: str = variable(
        "AI_EMBEDDINGS_MODEL",
        "",
        help="Model for embeddings. Empty: intfloat/multilingual-e5-small (local), Embeddings (gigachat), "
        "text-embedding-3-small (openai).",
    )
    prices: Path | None = variable(
        "AI_PRICES_FILE",
        None,
        help="Price list for your tariff, in the format of ai/prices.toml. Empty: "
        "the list that comes with the program.",
    )
    models: Path = variable(
        "MODELS_DIR",
        Path("models"),
        help="Folder of embedding models for AI_EMBEDDINGS=local; `tga models pull` fills it.",
    )
    hub_url: str = variable(
        "MODELS_HUB_URL",
        "https://huggingface.co",
        help="Server from which `tga models pull` downloads models.",
    )

    @property
    def embeddings_model_in_force(self) -> str:
        """The model that makes all embeddings of this installation."""
        defaults = {
            EmbeddingSource.LOCAL: "intfloat/multilingual-e5-small",
            EmbeddingSource.GIGACHAT: "Embeddings",
            EmbeddingSource.OPENAI: "text-embedding-3-small",
        }
        return self.embeddings_model or defaults[self.embeddings]
