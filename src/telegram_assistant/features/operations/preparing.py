"""Makes the secrets of an installation in containers: a folder for each process,
with files for what that process needs and no more.
"""

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from telegram_assistant.domain.tenants.access import new_operator_key
from telegram_assistant.errors import CannotStart
from telegram_assistant.reasons import Reason
from telegram_assistant.telegram.vault import make_key

PASSWORD = "POSTGRES_PASSWORD"  # noqa: S105 -- a name
LOGINS = {
    "DATABASE_URL": "tga",
    "DATABASE_SYSTEM_URL": "tga_worker",
    "DATABASE_INGEST_URL": "tga_reader",
    "DATABASE_ADMIN_URL": "postgres",
}
MADE: Mapping[str, Callable[[], str]] = {
    PASSWORD: lambda: secrets.token_hex(24),
    "SECRET_KEY": lambda: secrets.token_urlsafe(32),
    "SESSION_ENCRYPTION_KEY": make_key,
    "OPERATOR_KEY": new_operator_key,
}
COMMANDS = "commands"
"""The folder of the operator's commands, which need every secret."""
NEEDS: Mapping[str, tuple[str, ...]] = {
    COMMANDS: (*MADE, *LOGINS),
    "migrate": (*LOGINS,),
    "api": ("DATABASE_URL", "SECRET_KEY", "OPERATOR_KEY"),
    "worker": ("DATABASE_URL", "DATABASE_SYSTEM_URL", "SECRET_KEY", "OPERATOR_KEY"),
    "ingest": ("DATABASE_URL", "DATABASE_INGEST_URL", "SESSION_ENCRYPTION_KEY", "OPERATOR_KEY"),
    "postgres": (PASSWORD,),
    "prometheus": ("OPERATOR_KEY",),
}
READABLE = 0o444
"""Servers read their secrets as users of their own. Only their container sees the folder."""


def prepare_secrets(folder: Path, *, database: str, environ: Mapping[str, str]) -> list[str]:
    """Makes the secrets that are missing, and takes over those that the environment gives. Returns the names
    of those that are new.

    `database`: host, port and name of the database, like `postgres:5432/tga`, for the logins that `tga
    migrate` creates. An environment with DATABASE_URL describes a server of the operator's own, and no login
    is made up for it.
    """
    before = {name: _read_file(folder / COMMANDS / name.lower()) for name in NEEDS[COMMANDS]}
    given_secrets = {name: environ[name].strip() for name in before if environ.get(name, "").strip()}
    if "DATABASE_URL" in given_secrets:
        given_secrets = {**dict.fromkeys(LOGINS, ""), **given_secrets}
    after = {**before, **given_secrets}
    for name, make in MADE.items():
        after[name] = after[name] or make()
    for name, login in LOGINS.items():
        if after[name] is None:
            password = after[PASSWORD] if name == "DATABASE_ADMIN_URL" else secrets.token_hex(24)
            after[name] = f"postgresql://{login}:{password}@{database}"
    try:
        for place, names in NEEDS.items():
            for name in names:
                _write(folder / place / name.lower(), after[name] or "")
    except OSError as error:
        raise CannotStart(
            Reason(
                "secrets_not_written",
                "the secrets cannot be written into {folder} ({error})",
                folder=str(folder),
                error=error.strerror or "",
            ),
            remedy=Reason("make_folder_writable", "Let this user write into the folder"),
        ) from error
    return [name for name in after if after[name] != before[name]]


def _read_file(path: Path) -> str | None:
    """The content of the file; None if there is no file."""
    return path.read_text(encoding="utf-8") if path.exists() else None


def _write(path: Path, text: str) -> None:
    """Writes the file at once, so that a process that starts meanwhile never reads half of it."""
    if _read_file(path) == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished_file = path.with_name(path.name + ".new")
    unfinished_file.unlink(missing_ok=True)
    unfinished_file.write_text(text, encoding="utf-8")
    unfinished_file.chmod(READABLE)
    unfinished_file.rename(path)
