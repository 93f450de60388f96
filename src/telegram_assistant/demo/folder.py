"""The folder of a demo: what it remembers from one start to the next,
and the lock that allows one process at a time.
"""

import fcntl
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from telegram_assistant.errors import CannotStart, InUse
from telegram_assistant.reasons import Reason
from telegram_assistant.telegram.vault import make_key

NAME = "telegram-assistant-demo"
MARKER, LOCK, PROCESSES = "demo.json", "lock", "processes.json"
UNFINISHED = ".new"
CONTENTS = (
    *(
        "redis",
        "postgres",
        "files",
        "spool",
        "vectors",
        "log",
        "journal",
        "simulator.pem",
        "simulator.json",
        "simulator.json" + UNFINISHED,
    ),
    *(PROCESSES, PROCESSES + UNFINISHED, MARKER + UNFINISHED, LOCK, MARKER),
)
"""Everything that a demo creates in its folder.

The marker goes last, so that an interrupted removal can be repeated.
"""
USUAL_SEED = 1


class DemoState(BaseModel):
    """The state of a demo, saved in its folder.

    With the same seed and time the simulator has the same channels and message ids.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    demo_id: str
    seed: int
    now: datetime
    web_port: int
    """Links in posts lead to this port, so it is part of the texts."""
    session_key: str
    password: str
    """Of the database logins and of its own servers."""
    has_own_servers: bool
    postgres_folder: Path
    has_graph: bool = False
    """Whether a Neo4j server holds a part of it."""

    @property
    def database(self) -> str:
        return f"tga_demo_{self.demo_id}"

    @property
    def api_login(self) -> str:
        return f"{self.database}_api"

    @property
    def system_login(self) -> str:
        return f"{self.database}_system"


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """The folder of a demo that this process has locked."""

    path: Path
    state: DemoState

    def log(self, name: str) -> Path:
        return self.path / "log" / f"{name}.log"

    def remove(self) -> list[str]:
        """Deletes what the demo has created, and the folder if nothing else is in it.

        Returns the names of what is left.
        """
        shutil.rmtree(self.state.postgres_folder, ignore_errors=True)
        for name in CONTENTS:
            entry = self.path / name
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)
        remaining_names = sorted(entry.name for entry in self.path.iterdir())
        if not remaining_names:
            self.path.rmdir()
        return remaining_names


def usual_folder(environ: Mapping[str, str]) -> Path:
    data = environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local/share") / NAME


@contextmanager
def open_folder(
    path: Path, *, seed: int | None, has_own_servers: bool, web_port: int
) -> Iterator[DemoFolder]:
    """Opens the demo in the folder, or creates one.

    Raises CannotStart if it is in use, or was made in another way.
    """
    path = path.absolute()
    if not (path / MARKER).exists() and path.exists() and any(path.iterdir()):
        raise CannotStart(
            Reason("demo_folder_not_empty", "{folder} is not empty and contains no demo", folder=str(path)),
            remedy=Reason("choose_folder", "Choose another one with --folder"),
        )
    path.mkdir(parents=True, exist_ok=True, mode=0o755)
    with _lock_folder(path):
        state = (
            _read_state(path)
            if (path / MARKER).exists()
            else _create(path, seed or USUAL_SEED, has_own_servers=has_own_servers, web_port=web_port)
        )
        remedy = Reason(
            "remove_demo_first",
            "Remove the demo first with `tga demo --remove`, or choose another folder with --folder",
        )
        if seed not in {None, state.seed}:
            raise CannotStart(
                Reason(
                    "demo_has_other_seed",
                    "the demo in {folder} was created with --seed {seed}",
                    folder=str(path),
                    seed=state.seed,
                ),
                remedy=remedy,
            )
        if has_own_servers != state.has_own_servers:
            raise CannotStart(
                Reason(
                    "demo_has_own_servers",
                    "the demo in {folder} has its own servers; do not set DATABASE_URL and REDIS_URL",
                    folder=str(path),
                )
                if state.has_own_servers
                else Reason(
                    "demo_has_given_servers",
                    "the demo in {folder} uses external servers; set DATABASE_URL and REDIS_URL",
                    folder=str(path),
                ),
                remedy=remedy,
            )
        (path / "log").mkdir(exist_ok=True)
        yield DemoFolder(path, state)


@contextmanager
def existing_folder(path: Path) -> Iterator[DemoFolder | None]:
    """Opens the demo in the folder; None if there is no such folder.

    Raises CannotStart if it holds something else, or the demo runs.
    """
    path = path.absolute()
    if not path.exists():
        yield None
        return
    if not (path / MARKER).exists():
        raise CannotStart(
            Reason("folder_of_others", "`tga demo` did not create {folder}", folder=str(path)),
            remedy=Reason("name_demo_folder", "Name the folder of the demo with --folder"),
        )
    with _lock_folder(path):
        yield DemoFolder(path, _read_state(path))


def _read_state(path: Path) -> DemoState:
    try:
        return DemoState.model_validate_json((path / MARKER).read_bytes())
    except ValidationError as error:
        raise CannotStart(
            Reason("demo_unreadable", "this version cannot read {file}", file=str(path / MARKER)),
            remedy=Reason(
                "delete_demo_folder", "Delete the folder yourself, or choose another one with --folder"
            ),
        ) from error


def _create(path: Path, seed: int, *, has_own_servers: bool, web_port: int) -> DemoState:
    state = DemoState(
        demo_id=secrets.token_hex(4),
        seed=seed,
        now=datetime.now(UTC).replace(microsecond=0),
        web_port=web_port,
        session_key=make_key(),
        password=secrets.token_urlsafe(24),
        has_own_servers=has_own_servers,
        postgres_folder=path / "postgres",
    )
    save_state(path, state)
    return state


def save_state(path: Path, state: DemoState) -> None:
    replace_file(path / MARKER, state.model_dump_json(indent=2))


def update_state(path: Path, **changes: object) -> None:
    """Changes what the folder remembers, whatever else has been changed since the start."""
    save_state(path, _read_state(path).model_copy(update=changes))


def replace_file(path: Path, text: str) -> None:
    """Writes a file at once, so that nobody reads half of it, and for the owner's eyes only."""
    unfinished_file = path.with_name(path.name + UNFINISHED)
    with os.fdopen(
        os.open(unfinished_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
    ) as file:
        file.write(text)
    unfinished_file.rename(path)


@contextmanager
def _lock_folder(path: Path) -> Iterator[None]:
    with (path / LOCK).open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InUse(
                Reason("demo_is_running", "the demo in {folder} is running", folder=str(path)),
                remedy=Reason("stop_demo_first", "Stop it first, or choose another folder with --folder"),
            ) from error
        yield
