"""The HTTP server of a role, on real connections."""

import asyncio
import socket

from starlette.responses import PlainTextResponse

from telegram_assistant.api.server import HttpServer


async def test_the_pieces_of_an_answer_do_not_wait_for_each_others_acknowledgement() -> None:
    server = HttpServer(PlainTextResponse("here"), request_timeout_seconds=5)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        (connection,) = server.server_state.connections
        assert connection.transport.get_extra_info("socket").getsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY
        )
        writer.close()
        server.should_exit = True
        await serving
