"""Stand-ins for GigaChat and OpenAI at the wire: an HTTP server that speaks both protocols,
so that the real SDKs run unmodified.
"""

import asyncio
import base64
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

CREDENTIALS = base64.b64encode(b"client:secret").decode()
EMPTY_ANSWER = '{"tags": [], "entities": [], "description": "", "text": ""}'


@dataclass
class ChatRequest:
    """A chat request as the server heard it."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else str(content[0]["text"])


@dataclass
class FakeServer:
    """A provider's server: a test sets its answers and reads its requests."""

    url: str = ""
    says: Callable[[ChatRequest], str] = lambda _asked: EMPTY_ANSWER
    embeds: Callable[[Sequence[str]], Sequence[Sequence[float]]] = lambda texts: [
        [float(len(text)), 1.0, 0.5] for text in texts
    ]
    finish_reason: str = "stop"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    usage: tuple[int, int] = (10, 20)
    seconds: float = 0.0
    hangs: bool = False
    streams: int = 1000
    """More requests at the same time are refused with 429, as GigaChat does."""
    token_seconds: float = 1800.0
    pieces: int = 0
    """The number of pieces of a streamed answer; 0 sends it at once."""
    piece_gate: asyncio.Event | None = None
    breaks_off: bool = False
    """Whether the answer breaks off after the first piece."""
    requests: list[ChatRequest] = field(default_factory=list)
    request_counts: Counter[str] = field(default_factory=Counter)
    tokens: list[str] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    embedded_texts: list[str] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)
    """The Authorization headers of requests for vectors."""
    max_at_once: int = 0
    at_once: int = 0

    @property
    def calls(self) -> int:
        """Everything that would have cost money."""
        return self.request_counts["chat"] + self.request_counts["embeddings"]

    def gigachat(self, **more: str) -> dict[str, str]:
        return {
            "GIGACHAT_CREDENTIALS": CREDENTIALS,
            "GIGACHAT_BASE_URL": f"{self.url}/api/v1",
            "GIGACHAT_AUTH_URL": f"{self.url}/oauth",
            **more,
        }

    def openai(self, **more: str) -> dict[str, str]:
        return {"OPENAI_BASE_URL": f"{self.url}/v1", **more}

    async def oauth(self, request: Request) -> Response:
        self.request_counts["oauth"] += 1
        form = (await request.body()).decode()
        if request.headers["authorization"] != f"Basic {CREDENTIALS}" or "rquid" not in request.headers:
            return JSONResponse({"code": 4, "message": "Can't decode 'Authorization' header"}, 401)
        self.scopes.append(form.removeprefix("scope="))
        self.tokens.append(f"token-{uuid4()}")
        return JSONResponse(
            {"access_token": self.tokens[-1], "expires_at": int(1000 * (time.time() + self.token_seconds))}
        )

    async def chat(self, request: Request) -> Response:
        body = await request.json()
        if (refused := self._refuse(request)) is not None:
            return refused
        question = ChatRequest(request.url.path, body, dict(request.headers))
        self.requests.append(question)
        self.request_counts["chat"] += 1
        self.at_once += 1
        self.max_at_once = max(self.max_at_once, self.at_once)
        try:
            if self.at_once > self.streams:
                return JSONResponse({"status": 429, "message": "Too Many Requests"}, 429)
            await asyncio.sleep(3600 if self.hangs else self.seconds)
        finally:
            self.at_once -= 1
        if self.status != 200:
            return JSONResponse(
                {"status": self.status, "message": question.user, "error": {"message": question.user}},
                self.status,
                self.headers,
            )
        if body.get("stream"):
            return StreamingResponse(self._pieces(body, self.says(question)), media_type="text/event-stream")
        return JSONResponse(self._completion(body, self.says(question)))

    async def _pieces(self, body: dict[str, Any], text: str) -> AsyncIterator[str]:
        """Streams as OpenAI and GigaChat do: an event per piece, the finish reason, the usage, and the end.

        Pauses at `piece_gate`, if there is one.
        """
        sent, received = self.usage
        common = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}
        size = max(1, len(text) // self.pieces) if self.pieces else max(1, len(text))
        for start in range(0, len(text), size):
            delta = {"role": "assistant", "content": text[start : start + size]}
            choices = [{"index": 0, "delta": delta, "finish_reason": None}]
            yield f"data: {json.dumps({**common, 'choices': choices})}\n\n"
            if self.breaks_off:
                raise ConnectionResetError
            await asyncio.sleep(0)
            if self.piece_gate is not None:
                await self.piece_gate.wait()
        usage = {
            "prompt_tokens": sent,
            "completion_tokens": received,
            "total_tokens": sent + received,
            "precached_prompt_tokens": 0,
        }
        last = {
            "index": 0,
            "delta": {"role": "assistant", "content": ""},
            "finish_reason": self.finish_reason,
        }
        if "messages" in body and body.get("stream_options"):
            yield f"data: {json.dumps({**common, 'choices': [last]})}\n\n"
            yield f"data: {json.dumps({**common, 'choices': [], 'usage': usage})}\n\n"
        else:
            yield f"data: {json.dumps({**common, 'choices': [last], 'usage': usage})}\n\n"
        yield "data: [DONE]\n\n"

    async def embeddings(self, request: Request) -> Response:
        body = await request.json()
        if (refused := self._refuse(request)) is not None:
            return refused
        self.request_counts["embeddings"] += 1
        self.authorizations.append(request.headers.get("authorization", ""))
        if self.status != 200:
            return JSONResponse({"message": "no"}, self.status, self.headers)
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        self.names.append(body["model"])
        self.embedded_texts += texts
        rows = [
            {
                "object": "embedding",
                "index": number,
                "embedding": list(vector),
                "usage": {"prompt_tokens": 3},
            }
            for number, vector in enumerate(self.embeds(texts))
        ]
        return JSONResponse(
            {
                "object": "list",
                "model": body["model"],
                "data": rows[::-1],
                "usage": {"prompt_tokens": 3, "total_tokens": 3},
            }
        )

    async def upload(self, request: Request) -> Response:
        if (refused := self._refuse(request)) is not None:
            return refused
        name, data = _file_in(await request.body())
        file_id = str(uuid4())
        self.files[file_id] = data
        self.names.append(name)
        self.request_counts["upload"] += 1
        return JSONResponse(
            {
                "id": file_id,
                "object": "file",
                "bytes": len(data),
                "created_at": 1,
                "filename": name,
                "purpose": "general",
            }
        )

    async def delete(self, request: Request) -> Response:
        self.request_counts["delete"] += 1
        file_id = request.path_params["file_id"]
        del self.files[file_id]
        return JSONResponse({"id": file_id, "deleted": True})

    def _refuse(self, request: Request) -> Response | None:
        if (
            request.url.path.startswith("/api/")
            and request.headers.get("authorization") != f"Bearer {(self.tokens or ['none'])[-1]}"
        ):
            self.request_counts["refused"] += 1
            return JSONResponse({"status": 401, "message": "Token has expired"}, 401)
        return None

    def _completion(self, body: dict[str, Any], text: str) -> dict[str, Any]:
        sent, received = self.usage
        usage = {
            "prompt_tokens": sent,
            "completion_tokens": received,
            "total_tokens": sent + received,
            "precached_prompt_tokens": 0,
        }
        choice = {
            "index": 0,
            "finish_reason": self.finish_reason,
            "message": {"role": "assistant", "content": text},
        }
        return {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [choice],
            "usage": usage,
        }


def _file_in(body: bytes) -> tuple[str, bytes]:
    """The part of a multipart body that is called `file`."""
    part = next(part for part in body.split(b"--" + body[2 : body.index(b"\r\n")]) if b'name="file"' in part)
    head, _, data = part.partition(b"\r\n\r\n")
    return head.split(b'filename="')[1].split(b'"')[0].decode(), data.removesuffix(b"\r\n")


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The test decides when to stop."""
        yield


@asynccontextmanager
async def fake_server(*, certificate: Path | None = None) -> AsyncIterator[FakeServer]:
    """With a certificate and its key in one PEM file, over TLS."""
    fake = FakeServer()
    routes = [
        Route("/oauth", fake.oauth, methods=["POST"]),
        *(Route(f"{root}/chat/completions", fake.chat, methods=["POST"]) for root in ("/api/v1", "/v1")),
        *(Route(f"{root}/embeddings", fake.embeddings, methods=["POST"]) for root in ("/api/v1", "/v1")),
        Route("/api/v1/files", fake.upload, methods=["POST"]),
        Route("/api/v1/files/{file_id}/delete", fake.delete, methods=["POST"]),
    ]
    options: dict[str, Any] = {} if certificate is None else {"ssl_certfile": str(certificate)}
    server = _Server(
        uvicorn.Config(
            Starlette(routes=routes),
            port=0,
            log_config=None,
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=1,
            **options,
        )
    )
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    fake.url = f"http{'s' if certificate else ''}://127.0.0.1:{port}"
    try:
        yield fake
    finally:
        server.should_exit = server.force_exit = True
        await serving


def saying(**answer: object) -> Callable[[ChatRequest], str]:
    return lambda _asked: json.dumps(answer, ensure_ascii=False)
