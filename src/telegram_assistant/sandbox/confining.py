"""A process gives up, for good, everything that its rules do not name."""

import os
import resource
import signal
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from telegram_assistant.sandbox import landlock, seccomp
from telegram_assistant.sandbox.kernel import SET_NO_NEW_PRIVILEGES, SET_PARENT_DEATH_SIGNAL, drop_capabilities, hide_memory, prctl
from telegram_assistant.sandbox.rules import Caller, Rules

MAX_OPEN_FILES = 256


@dataclass(frozen=True, slots=True)
class Protection:
    """What the kernel enforces from now on."""

    landlock_abi: int | None = None
    has_system_call_filter: bool = False
    missing: tuple[str, ...] = ()
    """Why something is not enforced, in words."""
    reachable: tuple[str, ...] = ()
    """What a probe could still reach."""

    def in_words(self) -> str:
        """As `tga doctor` says it."""
        layers = ["no capabilities"]
        layers += [f"Landlock ABI {self.landlock_abi}"] if self.landlock_abi is not None else []
        layers += ["seccomp"] if self.has_system_call_filter else []
        return ", ".join(layers)


def confine(rules: Rules, *, starts_program: bool) -> Protection:
    """Whatever this kernel lacks is left out and named in the answer; what it has is in force when this returns."""
    program = seccomp.make_filter(rules.caller, may_execute=starts_program)
    _change_folder(rules)
    _limit(rules)
    _change_user(rules)
    hide_memory()
    if sys.platform != "linux":
        return Protection(missing=(f"{sys.platform} has neither Landlock nor seccomp",))
    prctl(SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL))
    prctl(SET_NO_NEW_PRIVILEGES, 1)
    drop_capabilities()
    version, has_filter, missing = None, False, []
    try:
        version = landlock.restrict(rules)
    except OSError as error:
        missing.append(f"Landlock ({error.strerror})")
    try:
        if program is None:
            missing.append(f"seccomp (no filter for {os.uname().machine})")
        else:
            seccomp.install(program)
            has_filter = True
    except OSError as error:
        missing.append(f"seccomp ({error.strerror})")
    return Protection(version, has_filter, tuple(missing))


def _limit(rules: Rules) -> None:
    os.nice(rules.niceness)
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_AS: rules.max_memory_bytes, resource.RLIMIT_CPU: rules.max_cpu_seconds}
    if rules.caller is Caller.PARSER:  # one process, no file that grows
        limits |= {resource.RLIMIT_NPROC: 0, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_NOFILE: MAX_OPEN_FILES}
    for limit, value in limits.items():
        if value is not None:
            with suppress(ValueError, OSError):  # it is lower already, or this system does not know it
                resource.setrlimit(limit, (value, value))


def _change_user(rules: Rules) -> None:
    if rules.unprivileged_user_id is not None and os.geteuid() == 0:
        os.setgroups([])
        os.setgid(rules.unprivileged_user_id)
        os.setuid(rules.unprivileged_user_id)


def _change_folder(rules: Rules) -> None:
    if rules.folder is not None:
        os.chdir(rules.folder)
        return
    empty = tempfile.mkdtemp(prefix="tga-sandbox-")
    os.chdir(empty)
    Path(empty).rmdir()  # nothing can be created in it, and nobody has to clean up
