"""Entry point of the new process: `python -m telegram_assistant.sandbox NAME=VALUE… -- -m MODULE`, or a
program with its arguments instead.

Without either, it reports what is enforced and what it can still reach.
"""

import _socket
import os
import sys

from telegram_assistant.sandbox.confining import confine


def main(arguments: list[str], command: list[str]) -> None:
    """Confine this process, then run the module or program."""
    rules: dict[str, list[str]] = {}
    for argument in arguments:
        name, _, value = argument.partition("=")
        rules.setdefault(name, []).append(value)
    module = command[1] if command[:1] == ["-m"] else None
    version, has_filter, missing_features = confine(rules, starts_program=bool(command) and module is None)
    if module is not None:
        sys.path.extend(rules.get("code", ()))
        _run_module(module)
    elif command:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        os.execve(command[0], command, environment)  # noqa: S606 -- our own command, in the sandbox
    else:
        report = [f"landlock_abi={version or ''}", f"has_system_call_filter={has_filter or ''}"]
        report += [f"missing={feature}" for feature in missing_features] + [
            f"reachable={place}" for place in _reachable()
        ]
        sys.stdout.write("\n".join(report))


def _run_module(module: str) -> None:
    import runpy  # noqa: PLC0415 -- programs start without it

    sys.argv = [module]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _reachable() -> list[str]:
    """Try to reach what a parser never needs."""
    reachable = []
    try:
        with open(f"/proc/{os.getppid()}/environ", "rb"):  # noqa: PTH123 -- pathlib takes too long to load
            reachable.append("the parent's environment")
    except OSError:
        pass
    try:
        os.listdir("/etc")  # noqa: PTH208 -- as above
        reachable.append("files")
    except OSError:
        pass
    try:
        _socket.socket().close()
        reachable.append("sockets")
    except OSError:
        pass
    return reachable


if __name__ == "__main__":
    end = sys.argv.index("--")
    main(sys.argv[1:end], sys.argv[end + 1 :])
