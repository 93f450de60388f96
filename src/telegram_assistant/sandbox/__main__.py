"""Inside the new process: `python -m telegram_assistant.sandbox RULES -m MODULE`, or a program with its arguments instead.

Without either it says what is in force and what it can still reach.
"""

import json
import os
import runpy
import socket
import sys
from dataclasses import asdict, replace

from telegram_assistant.sandbox.confining import confine
from telegram_assistant.sandbox.rules import Rules


def main(rules: Rules, command: list[str]) -> None:
    """Confine this process, then become what was asked for."""
    module = command[1] if command[:1] == ["-m"] else None
    protection = confine(rules, starts_program=bool(command) and module is None)
    if module is not None:
        sys.argv = [module]
        sys.path.extend(rules.code)
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    elif command:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        os.execve(command[0], command, environment)  # noqa: S606 -- our own command, in the sandbox
    else:
        sys.stdout.write(json.dumps(asdict(replace(protection, reachable=_reachable()))))


def _reachable() -> tuple[str, ...]:
    """What a parser never needs, tried."""
    found = []
    try:
        with open(f"/proc/{os.getppid()}/environ", "rb"):  # noqa: PTH123 -- pathlib would look for the file first
            found.append("the parent's environment")
    except OSError:
        pass
    try:
        os.listdir("/etc")  # noqa: PTH208 -- as above
        found.append("files")
    except OSError:
        pass
    try:
        socket.socket().close()
        found.append("sockets")
    except OSError:
        pass
    return tuple(found)


if __name__ == "__main__":
    main(Rules.from_json(sys.argv[1]), sys.argv[2:])
