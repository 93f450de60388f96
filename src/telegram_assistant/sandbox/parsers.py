"""Rules for our modules that parse untrusted content."""

import site
import sys
import sysconfig
from functools import cache
from pathlib import Path

from telegram_assistant.sandbox.rules import DEVICES, PACKAGE, SYSTEM_LIBRARIES, TIME_ZONES, Rules


def parser_rules(*code: Path) -> Rules:
    """Return the rules of a parsing module: it may load code, and nothing else."""
    return Rules(
        code=tuple(map(str, code)),
        read=(*python_folders(), str(PACKAGE), *SYSTEM_LIBRARIES, *TIME_ZONES, *DEVICES),
    )


@cache
def python_folders() -> tuple[str, ...]:
    """Return the folders of the standard library and the installed packages; never `sys.path`,
    which may name a checkout with its .env.
    """
    paths = sysconfig.get_paths()
    folders = [
        paths["stdlib"],
        paths["platstdlib"],
        paths["purelib"],
        paths["platlib"],
        *site.getsitepackages(),
        site.getusersitepackages(),
    ]
    return tuple(dict.fromkeys([*folders, f"{sys.base_prefix}/lib"]))
