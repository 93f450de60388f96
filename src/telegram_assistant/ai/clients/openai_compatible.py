"""Any server with OpenAI's API: OpenAI, vLLM, Ollama, llama.cpp. Chat and pictures go through LangChain."""

import asyncio
import base64
from collections.abc import Sequence

import openai
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from langsmith import tracing_context

from telegram_assistant.ai.clients.embedding_server import NO_KEY, OPENAI_ITSELF, EmbeddingServer
from telegram_assistant.ai.clients.openai_errors import translate_errors
from telegram_assistant.ai.clients.streaming import gather_pieces
from telegram_assistant.ai.protocols import Embedded, Hear, Instruction, Picture, Reply, TextKind
from telegram_assistant.domain.understanding.policy import Failure, ProviderFailed
from telegram_assistant.domain.understanding.spending import Tokens
from telegram_assistant.settings import EmbeddingsSettings, OpenAiSettings

PICTURE_TYPES = {"image/jpeg", "image/png"}


class OpenAiProvider:
    """One per process."""

    def __init__(self, settings: OpenAiSettings, embeddings: EmbeddingsSettings) -> None:
        self._base_url = settings.base_url or OPENAI_ITSELF
        self._key = settings.api_key.get_secret_value() or NO_KEY
        self._http = openai.DefaultAsyncHttpxClient()
        self._embeddings = EmbeddingServer(embeddings, settings)
        self._chats: dict[str, ChatOpenAI] = {}

    async def chat(
        self, instruction: Instruction, *, model: str, timeout_seconds: float, hear: Hear | None = None
    ) -> Reply:
        messages: list[BaseMessage] = [SystemMessage(instruction.system), HumanMessage(instruction.user)]
        return await self._ask(
            messages,
            model=model,
            max_tokens=instruction.max_tokens,
            timeout_seconds=timeout_seconds,
            hear=hear,
        )

    async def look(
        self, instruction: Instruction, picture: Picture, *, model: str, timeout_seconds: float
    ) -> Reply:
        if picture.mime not in PICTURE_TYPES:
            raise ProviderFailed(Failure.REFUSED, "it takes jpeg and png")
        url = f"data:{picture.mime};base64,{base64.b64encode(picture.data).decode()}"
        message = HumanMessage(
            content=[
                {"type": "text", "text": instruction.user},
                {"type": "image_url", "image_url": {"url": url}},
            ]
        )
        messages: list[BaseMessage] = [SystemMessage(instruction.system), message]
        return await self._ask(
            messages, model=model, max_tokens=instruction.max_tokens, timeout_seconds=timeout_seconds
        )

    async def embed(
        self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float
    ) -> Embedded:
        return await self._embeddings.embed(texts, kind, model=model, timeout_seconds=timeout_seconds)

    async def close(self) -> None:
        await self._http.aclose()
        await self._embeddings.close()

    async def _ask(
        self,
        messages: list[BaseMessage],
        *,
        model: str,
        max_tokens: int,
        timeout_seconds: float,
        hear: Hear | None = None,
    ) -> Reply:
        if model not in self._chats:
            self._chats[model] = ChatOpenAI(
                model=model,
                base_url=self._base_url,
                api_key=lambda: self._key,
                max_retries=0,
                temperature=0,
                http_async_client=self._http,
            )
        # OpenAI's newest models know only max_completion_tokens, many other servers only max_tokens.
        limit = (
            {"max_tokens": max_tokens}
            if self._base_url == OPENAI_ITSELF
            else {"extra_body": {"max_tokens": max_tokens}}
        )
        with translate_errors(), tracing_context(enabled=False):
            async with asyncio.timeout(timeout_seconds):
                answer: AIMessage
                if hear is None:
                    answer = await self._chats[model].ainvoke(messages, timeout=timeout_seconds, **limit)
                else:
                    pieces = self._chats[model].astream(
                        messages, timeout=timeout_seconds, stream_usage=True, **limit
                    )
                    answer = await gather_pieces(pieces, messages, hear)
        usage = answer.usage_metadata
        tokens = Tokens(usage["input_tokens"], usage["output_tokens"]) if usage else Tokens()
        return Reply(
            str(answer.text),
            tokens,
            is_blacklisted=answer.response_metadata.get("finish_reason") == "content_filter",
        )
