"""GigaChat: chat through GigaChain, files and vectors through its SDK,
with one access token for all processes.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import httpx
from gigachat import GigaChat as Sdk
from gigachat.context import authorization_cvar, session_id_cvar
from gigachat.exceptions import AuthenticationError, GigaChatException, RateLimitError, ResponseError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_gigachat import GigaChat
from langsmith import tracing_context

from telegram_assistant.ai.clients.streaming import gather_pieces
from telegram_assistant.ai.protocols import (
    Embedded,
    Hear,
    Instruction,
    Picture,
    Reply,
    SharedToken,
    TextKind,
    Vector,
)
from telegram_assistant.domain.understanding.policy import Failure, ProviderFailed
from telegram_assistant.domain.understanding.spending import Tokens
from telegram_assistant.settings import GigaChatSettings

PICTURE_EXTENSIONS = {"image/jpeg": "jpg", "image/png": "png"}
MAX_BYTES = 15_000_000
NO_MONEY, FIRST_SERVER_ERROR = 402, 500
TOKEN_SECONDS = 20.0
DELETION_SECONDS = 5.0
EMBEDDED_AT_ONCE = 64
TEMPERATURE = 0.01
"""The most deterministic setting that GigaChat accepts."""
QUERY_PREFIX = "Дано предложение, необходимо найти его парафраз \nпредложение: "
"""The prefix that models of the GigaR family need before a query."""


class GigaChatProvider:
    """One per process. Its clients have no credentials: each call gets the token from outside."""

    def __init__(self, settings: GigaChatSettings, *, token: SharedToken) -> None:
        self._settings = settings
        self._token = token
        self._session = str(uuid4())
        self._tls = _certificates(settings)
        self._sdk = Sdk(**self._connection(), max_retries=0)
        self._chats: dict[tuple[str, bool], GigaChat] = {}
        """By model, and whether it streams: GigaChain lets no call choose."""

    async def chat(
        self, instruction: Instruction, *, model: str, timeout_seconds: float, hear: Hear | None = None
    ) -> Reply:
        messages = [SystemMessage(instruction.system), HumanMessage(instruction.user)]
        return await self._call_with_token(
            lambda: self._ask(messages, model, instruction.max_tokens, hear), timeout_seconds
        )

    async def look(
        self, instruction: Instruction, picture: Picture, *, model: str, timeout_seconds: float
    ) -> Reply:
        """Uploads the picture, asks about it, and deletes the file in any case."""
        if picture.mime not in PICTURE_EXTENSIONS or len(picture.data) > MAX_BYTES:
            raise ProviderFailed(Failure.REFUSED, "GigaChat takes jpeg and png of up to 15 MB")

        async def show() -> Reply:
            uploaded_file = await self._sdk.aupload_file(
                (f"{uuid4()}.{PICTURE_EXTENSIONS[picture.mime]}", picture.data, picture.mime)
            )
            try:
                message = HumanMessage(
                    instruction.user, additional_kwargs={"attachments": [uploaded_file.id_]}
                )
                return await self._ask(
                    [SystemMessage(instruction.system), message], model, instruction.max_tokens
                )
            finally:
                with suppress(GigaChatException, httpx.HTTPError, TimeoutError):
                    async with asyncio.timeout(DELETION_SECONDS):
                        await self._sdk.adelete_file(uploaded_file.id_)

        return await self._call_with_token(show, timeout_seconds)

    async def embed(
        self, texts: Sequence[str], kind: TextKind, *, model: str, timeout_seconds: float
    ) -> Embedded:
        prefix = QUERY_PREFIX if kind is TextKind.QUERY and "GigaR" in model else ""

        async def turn() -> Embedded:
            vectors: list[Vector] = []
            token_count = 0
            for start in range(0, len(texts), EMBEDDED_AT_ONCE):
                answer = await self._sdk.aembeddings(
                    [prefix + text for text in texts[start : start + EMBEDDED_AT_ONCE]], model=model
                )
                vectors += [
                    tuple(item.embedding) for item in sorted(answer.data, key=lambda item: item.index)
                ]
                token_count += sum(item.usage.prompt_tokens for item in answer.data)
            return Embedded(tuple(vectors), Tokens(token_count))

        return await self._call_with_token(turn, timeout_seconds)

    async def close(self) -> None:
        await self._sdk.aclose()
        for chat in self._chats.values():
            await chat._client.aclose()  # noqa: SLF001 -- GigaChain closes its connections no other way
        self._chats.clear()

    async def _ask(
        self, messages: list[BaseMessage], model: str, max_tokens: int, hear: Hear | None = None
    ) -> Reply:
        key = (model, hear is not None)
        if key not in self._chats:
            self._chats[key] = GigaChat(
                **self._connection(),
                model=model,
                max_retries=0,
                temperature=TEMPERATURE,
                streaming=hear is not None,
            )
        answer: AIMessage
        if hear is None:
            answer = await self._chats[key].ainvoke(messages, max_tokens=max_tokens)
        else:
            answer = await gather_pieces(
                self._chats[key].astream(messages, max_tokens=max_tokens), messages, hear
            )
        usage = answer.usage_metadata
        tokens = Tokens()
        if usage is not None:
            remembered_count = usage.get("input_token_details", {}).get(
                "cache_read", 0
            )  # cached from an earlier call, and not billed again
            tokens = Tokens(max(0, usage["input_tokens"] - remembered_count), usage["output_tokens"])
        return Reply(
            str(answer.text),
            tokens,
            is_blacklisted=answer.response_metadata.get("finish_reason") == "blacklist",
        )

    async def _call_with_token[T](self, ask: Callable[[], Awaitable[T]], timeout_seconds: float) -> T:
        """Calls with a token; renews the token once if the server no longer accepts it."""
        with _translate_errors():
            async with asyncio.timeout(timeout_seconds):
                token = await self._token.current() or await self._token.renew(self._fetch, instead_of=None)
                try:
                    return await self._with(token, ask)
                except AuthenticationError:
                    return await self._with(await self._token.renew(self._fetch, instead_of=token), ask)

    async def _with[T](self, token: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Sets the session, which lets GigaChat cache common prompt prefixes,
        and disables LangChain's tracing, which would send texts elsewhere.
        """
        authorization_token, session_token = (
            authorization_cvar.set(f"Bearer {token}"),
            session_id_cvar.set(self._session),
        )
        try:
            with tracing_context(enabled=False):
                return await ask()
        finally:
            authorization_cvar.reset(authorization_token)
            session_id_cvar.reset(session_token)

    async def _fetch(self) -> tuple[str, float]:
        client_options = {
            **self._connection(),
            "credentials": self._settings.credentials.get_secret_value(),
            "timeout": TOKEN_SECONDS,
        }
        async with Sdk(
            **client_options,
            scope=self._settings.scope.value,
            auth_url=self._settings.auth_url,
            max_retries=0,
        ) as client:
            got = await client.aget_token()
        assert got is not None  # there are credentials
        return got.access_token, got.expires_at / 1000 - datetime.now(UTC).timestamp()

    def _connection(self) -> dict[str, Any]:
        """Every option explicitly: the SDK reads missing ones from the environment,
        where verification may be switched off.
        """
        return {
            "base_url": self._settings.base_url,
            "ssl_context": self._tls,
            "verify_ssl_certs": True,
            "ca_bundle_file": "",
            "credentials": "",
            "access_token": "",
            "user": "",
            "password": "",
            "timeout": 600.0,
        }


def _certificates(settings: GigaChatSettings) -> ssl.SSLContext:
    """Trusts the usual certificate authorities and those of the bundle."""
    context = httpx.create_ssl_context()
    if settings.ca_bundle_file is not None:
        context.load_verify_locations(cafile=settings.ca_bundle_file)
    return context


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translates the library's errors into ProviderFailed.

    Omits the server's message, because it may repeat the text.
    """
    try:
        yield
    except RateLimitError as error:
        raise ProviderFailed(
            Failure.RATE, "GigaChat asks to wait", retry_after_seconds=_seconds(error)
        ) from error
    except ResponseError as error:
        raise ProviderFailed(_failure(error.status_code), f"GigaChat answered {error.status_code}") from None
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
        hint = "; is GIGACHAT_CA_BUNDLE_FILE set?" if "CERTIFICATE_VERIFY_FAILED" in str(error) else ""
        raise ProviderFailed(
            Failure.OUTAGE, f"GigaChat cannot be reached ({type(error).__name__}){hint}"
        ) from error
    except (httpx.HTTPError, TimeoutError) as error:
        raise ProviderFailed(Failure.LATE, f"no answer from GigaChat ({type(error).__name__})") from error
    except GigaChatException as error:
        raise ProviderFailed(Failure.REFUSED, f"GigaChat's client gave up ({type(error).__name__})") from None


def _seconds(error: RateLimitError) -> float:
    try:
        return float(error.retry_after or 0)
    except (TypeError, ValueError):
        return 0.0


def _failure(status: int) -> Failure:
    if status == NO_MONEY:
        return Failure.NO_MONEY
    return Failure.OUTAGE if status >= FIRST_SERVER_ERROR else Failure.REFUSED
