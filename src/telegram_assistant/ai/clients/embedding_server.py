"""Vectors from any server with OpenAI's API: OpenAI, TEI, vLLM, Ollama, llama.cpp."""

import asyncio
from collections.abc import Sequence

import openai

from telegram_assistant.ai.clients.openai_errors import translate_errors
from telegram_assistant.ai.protocols import Embedded, TextKind, Vector
from telegram_assistant.domain.understanding.policy import Failure, ProviderFailed
from telegram_assistant.domain.understanding.spending import Tokens
from telegram_assistant.settings import EmbeddingsSettings, OpenAiSettings

OPENAI_ITSELF = "https://api.openai.com/v1"
NO_KEY = "none"
"""Self-hosted servers need no key, but the client requires one."""
BATCH = 32
"""Texts per request: more than that TEI refuses as it comes."""


class EmbeddingServer:
    """One per process: EMBEDDINGS_BASE_URL with its own key, or else the server for texts."""

    def __init__(self, settings: EmbeddingsSettings, openai_settings: OpenAiSettings) -> None:
        url, key = (
            (settings.base_url, settings.api_key)
            if settings.base_url
            else (openai_settings.base_url or OPENAI_ITSELF, openai_settings.api_key)
        )
        self._prefixes = {
            TextKind.QUERY: settings.query_prefix,
            TextKind.DOCUMENT: settings.document_prefix,
        }
        # A redirect would carry texts to a server that nobody has named.
        self._http = openai.DefaultAsyncHttpxClient(follow_redirects=False)
        self._sdk = openai.AsyncOpenAI(
            base_url=url, api_key=key.get_secret_value() or NO_KEY, http_client=self._http, max_retries=0
        )

    async def embed(
        self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float
    ) -> Embedded:
        vectors: list[Vector] = []
        token_count = 0
        prefixed_texts = [self._prefixes[kind] + text for text in texts]
        with translate_errors():
            async with asyncio.timeout(timeout_seconds):
                for start in range(0, len(prefixed_texts), BATCH):
                    batch_texts = prefixed_texts[start : start + BATCH]
                    answer = await self._sdk.embeddings.create(
                        model=model, input=batch_texts, encoding_format="float", timeout=timeout_seconds
                    )
                    if len(answer.data) != len(batch_texts):
                        raise ProviderFailed(Failure.UNUSABLE, "another number of vectors than of texts")
                    ordered_items = sorted(answer.data, key=lambda item: item.index)
                    vectors += (tuple(item.embedding) for item in ordered_items)
                    token_count += answer.usage.prompt_tokens if answer.usage else 0
        return Embedded(tuple(vectors), Tokens(token_count))

    async def close(self) -> None:
        await self._http.aclose()
