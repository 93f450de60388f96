"""Commands of `tga` without the seconds that each start takes.

One process imports the program and forks for every command; the child has the arguments, environment,
folder and streams of its caller. As a script, `forked_commands.py SOCKET ARGUMENTS...` is such a caller.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HEADER = struct.Struct("!I")
"""The length of a request."""


def call(address: str, arguments: list[str]) -> int:
    """The exit code of `tga` with these arguments."""
    request = json.dumps({"argv": arguments, "cwd": str(Path.cwd()), "environ": dict(os.environ)}).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [HEADER.pack(len(request))], [0, 1, 2])
        connection.sendall(request)
        code = connection.recv(HEADER.size, socket.MSG_WAITALL)
    return HEADER.unpack(code)[0] if code else 1


def serve(address: str) -> None:
    """Forks for each request, until it is ended."""
    from telegram_assistant.cli import COMMANDS, main  # noqa: PLC0415 -- a caller imports nothing

    for name, command in COMMANDS.items():
        command.load(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who answer
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{address}.new")
        listening.listen()
        Path(f"{address}.new").rename(address)  # from here on it answers
        while True:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(connection, main)
                os._exit(0)
            connection.close()


def _answer(connection: socket.socket, main: Callable[[], None]) -> None:
    """Runs the command in one more child, and sends its exit code."""
    header, streams, _, _ = socket.recv_fds(connection, HEADER.size, 3)
    request = json.loads(connection.recv(HEADER.unpack(header)[0], socket.MSG_WAITALL))
    child = os.fork()
    if child == 0:
        connection.close()
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
            os.close(stream)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["environ"])
        sys.argv = ["tga", *request["argv"]]
        os._exit(_exit_code(main))
    for stream in streams:
        os.close(stream)
    connection.sendall(HEADER.pack(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF))


def _exit_code(main: Callable[[], None]) -> int:
    code: object = 1
    try:
        main()
    except SystemExit as ending:
        code = ending.code
    except BaseException:  # noqa: BLE001 -- as the interpreter does at its end
        traceback.print_exc()
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    return code if isinstance(code, int) else int(code is not None)


@contextmanager
def forked_commands() -> Iterator[str]:
    """The command line, for a shell, that does the same as `python -m telegram_assistant`."""
    with tempfile.TemporaryDirectory() as folder:
        address = str(Path(folder) / "tga.sock")
        process = subprocess.Popen([sys.executable, __file__, "--serve", address])
        try:
            while not Path(address).exists():
                if process.poll() is not None:
                    sys.exit("the program could not be imported")
                time.sleep(0.01)
            yield f"{sys.executable} -S -E {__file__} {address}"
        finally:
            process.terminate()
            process.wait(20)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        sys.exit(call(sys.argv[1], sys.argv[2:]))
