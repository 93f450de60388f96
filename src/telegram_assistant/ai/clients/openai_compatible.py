"""Any server with OpenAI's API: OpenAI, vLLM, Ollama, llama.cpp. Chat and pictures go through LangChain."""

import asyncio
import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import openai
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from langsmith import tracing_context

from telegram_assistant.ai.clients.streaming import gather_pieces
from telegram_assistant.ai.protocols import Embedded, Hear, Instruction, Picture, Reply, TextKind
from telegram_assistant.domain.understanding.policy import Failure, ProviderFailed
from telegram_assistant.domain.understanding.spending import Tokens
from telegram_assistant.settings import OpenAiSettings

TAKEN = {"image/jpeg", "image/png"}
NO_MONEY, FIRST_SERVER_ERROR = 402, 500
OPENAI_ITSELF = "https://api.openai.com/v1"
NO_KEY = "none"
"""Self-hosted servers need no key, but the client requires one."""


class OpenAiProvider:
    """One per process."""

    def __init__(self, settings: OpenAiSettings) -> None:
        self._base_url = settings.base_url or OPENAI_ITSELF
        self._key = settings.api_key.get_secret_value() or NO_KEY
        self._http = openai.DefaultAsyncHttpxClient()
        self._sdk = openai.AsyncOpenAI(
            base_url=self._base_url, api_key=self._key, http_client=self._http, max_retries=0
        )
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
        if picture.mime not in TAKEN:
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
        """Embeds documents and queries alike: the API has no distinction."""
        del kind
        with _translated():
            async with asyncio.timeout(timeout_seconds):
                answer = await self._sdk.embeddings.create(
                    model=model, input=list(texts), encoding_format="float", timeout=timeout_seconds
                )
        ordered = sorted(answer.data, key=lambda item: item.index)
        return Embedded(
            tuple(tuple(item.embedding) for item in ordered),
            Tokens(answer.usage.prompt_tokens if answer.usage else 0),
        )

    async def close(self) -> None:
        await self._http.aclose()

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
        with _translated(), tracing_context(enabled=False):
            async with asyncio.timeout(timeout_seconds):
                answer: AIMessage
                if hear is None:
                    answer = await self._chats[model].ainvoke(messages, timeout=timeout_seconds, **limit)
                else:
                    pieces = self._chats[model].astream(
                        messages, timeout=timeout_seconds, stream_usage=True, **limit
                    )
                    answer = await gather_pieces(pieces, messages, hear)
        used = answer.usage_metadata
        tokens = Tokens(used["input_tokens"], used["output_tokens"]) if used else Tokens()
        return Reply(
            str(answer.text),
            tokens,
            is_blacklisted=answer.response_metadata.get("finish_reason") == "content_filter",
        )


@contextmanager
def _translated() -> Iterator[None]:
    """Translates the library's errors into ProviderFailed.

    Omits the server's message, because it may repeat the text.
    """
    try:
        yield
    except openai.RateLimitError as error:
        failure = Failure.NO_MONEY if error.code == "insufficient_quota" else Failure.RATE
        raise ProviderFailed(
            failure, "the server asks to wait", retry_after_seconds=_seconds(error)
        ) from None
    except openai.APIStatusError as error:
        raise ProviderFailed(
            _failure(error.status_code), f"the server answered {error.status_code}"
        ) from None
    except (openai.APITimeoutError, TimeoutError) as error:
        raise ProviderFailed(Failure.LATE, "no answer in time") from error
    except openai.APIConnectionError as error:
        raise ProviderFailed(
            Failure.OUTAGE, f"the server cannot be reached ({type(error.__cause__ or error).__name__})"
        ) from error
    except (openai.OpenAIError, ValueError, TypeError, KeyError) as error:
        raise ProviderFailed(
            Failure.UNUSABLE, f"the server speaks another protocol ({type(error).__name__})"
        ) from None


def _seconds(error: openai.RateLimitError) -> float:
    try:
        return float(error.response.headers.get("retry-after") or 0)
    except ValueError:
        return 0.0


def _failure(status: int) -> Failure:
    if status == NO_MONEY:
        return Failure.NO_MONEY
    return Failure.OUTAGE if status >= FIRST_SERVER_ERROR else Failure.REFUSED
