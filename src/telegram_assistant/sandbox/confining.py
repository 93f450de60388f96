"""Gives up, for good, everything that the process's rules do not allow.

This and everything it imports runs in every sandboxed process before its work begins. So it uses only modules
that load at once: dataclasses, pathlib, json and typing together take longer than all the rest of a start.
"""

import os
import resource
import sys
from collections.abc import Mapping, Sequence

from telegram_assistant.sandbox import landlock, seccomp
from telegram_assistant.sandbox.kernel import (
    SET_NO_NEW_PRIVILEGES,
    SET_PARENT_DEATH_SIGNAL,
    drop_capabilities,
    hide_memory,
    prctl,
)

MAX_OPEN_FILES = 256
KILL = 9
PARSER = "parser"

type RuleValues = Mapping[str, Sequence[str]]
"""The fields of `Rules` with their values, as given on the command line."""


def confine(rules: RuleValues, *, starts_program: bool) -> tuple[int | None, bool, list[str]]:
    """Confine this process.

    Returns the Landlock version, whether system calls are filtered, and what this kernel lacks, in words.
    """
    is_parser = rules["caller"] == [PARSER]
    program = seccomp.make_filter(is_parser=is_parser, may_execute=starts_program)
    _change_folder(rules.get("folder"))
    _limit(rules, is_parser=is_parser)
    _change_user(rules.get("unprivileged_user_id"))
    hide_memory()
    if sys.platform != "linux":
        return None, False, [f"{sys.platform} has neither Landlock nor seccomp"]
    prctl(SET_PARENT_DEATH_SIGNAL, KILL)
    prctl(SET_NO_NEW_PRIVILEGES, 1)
    drop_capabilities()
    version, has_filter, missing_features = None, False, []
    try:
        version = landlock.restrict(rules)
    except OSError as error:
        missing_features.append(f"Landlock ({error.strerror})")
    try:
        if program is None:
            missing_features.append(f"seccomp (no filter for {os.uname().machine})")
        else:
            seccomp.install(program)
            has_filter = True
    except OSError as error:
        missing_features.append(f"seccomp ({error.strerror})")
    return version, has_filter, missing_features


def _limit(rules: RuleValues, *, is_parser: bool) -> None:
    for value in rules["niceness"]:
        os.nice(int(value))
        _set_session_niceness(value)
    limits = [(resource.RLIMIT_CORE, 0)]
    limits += [(resource.RLIMIT_AS, int(value)) for value in rules.get("max_memory_bytes", ())]
    limits += [(resource.RLIMIT_CPU, int(value)) for value in rules.get("max_cpu_seconds", ())]
    if is_parser:  # a single process that writes no files
        limits += [
            (resource.RLIMIT_NPROC, 0),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_NOFILE, MAX_OPEN_FILES),
        ]
    for limit, number in limits:
        try:
            resource.setrlimit(limit, (number, number))
        except (ValueError, OSError):  # the limit is lower already, or this system does not know it
            continue


def _set_session_niceness(niceness: str) -> None:
    """Lower the priority of the session.

    Linux may share the CPU among sessions first: a new session would get as much as all others.
    """
    try:
        with open("/proc/self/autogroup", "w", encoding="ascii") as group:  # noqa: PTH123 -- it loads quickly
            group.write(niceness)
    except OSError:  # this kernel does not group by session
        return


def _change_user(user: Sequence[str] | None) -> None:
    if user and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(int(user[0]))
        os.setuid(int(user[0]))


def _change_folder(folder: Sequence[str] | None) -> None:
    """Change to the folder, or to an empty, already deleted one: nothing can be created in it,
    and nobody has to clean up.
    """
    if folder:
        os.chdir(folder[0])
        return
    empty = f"{os.environ['TMPDIR']}/tga-sandbox-{os.urandom(8).hex()}"
    os.mkdir(empty, 0o700)  # noqa: PTH102 -- pathlib takes too long to load
    os.chdir(empty)
    os.rmdir(empty)  # noqa: PTH106 -- as above
