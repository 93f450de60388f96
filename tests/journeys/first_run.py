"""An empty installation with its api and its ingest,
and a Telegram with a channel for each way of adding one.
"""

import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from telegram_assistant.telegram.vault import make_key
from telegram_simulator.control.client import ControlClient
from telegram_simulator.world.world import HOME_DC
from testkit.engines import free_port, running_engine
from testkit.programs import INGEST, kill, program
from testkit.simulators import simulator

API = ("telegram_assistant", "run", "--roles", "api")
DIGITS, PASSWORD = "79995550402", "сезам"
FOLDER = "Чтение"
WAYS = ("name", "link", "invitation", "addlist", "file", "folder", "picked")
"""How channels are added. The channel that is added so has the word in its title and in its post."""
LINES = "@by_name_one\nhttps://t.me/by_link_one\nhttps://t.me/+byInvite1\nhttps://t.me/addlist/sharedOne"
LISTED = "channel,folder\n@by_file_one,Files\n"


@dataclass(frozen=True, slots=True)
class Telegram:
    """A Telegram whose account has two-step verification, and how a program reaches it."""

    control: ControlClient
    settings: dict[str, str]

    def scan(self, link: str) -> None:
        """The phone of the account points its camera at the code."""
        self.control.ask("POST", "/login-tokens/accept", phone=DIGITS, token=link)


@contextmanager
def telegram() -> Iterator[Telegram]:
    with simulator("tiny", limits="telegram") as running, running.control() as control:
        made: dict[str, int] = {}
        for way in WAYS:
            name = {"invite": "byInvite1"} if way == "invitation" else {"username": f"by_{way}_one"}
            made[way] = control.ask("POST", "/channels", title=f"Channel {way}", **name)["channel_id"]
            control.post(made[way], f"The first post, added by {way}.")
        control.ask(
            "POST", "/accounts", phone=DIGITS, joined=[made["folder"], made["picked"]], password=PASSWORD
        )
        control.ask("POST", f"/accounts/{DIGITS}/folders", title=FOLDER, channels=[made["folder"]])
        control.ask("POST", "/folders", slug="sharedOne", title="Shared", channels=[made["addlist"]])
        where = control.ask("GET", "/where")
        port = str(where["ports"][str(HOME_DC)])
        yield Telegram(
            control,
            {
                "TELEGRAM_DC_ADDR": where["host"],
                "TELEGRAM_DC_PORT": port,
                "TELEGRAM_DC_PUBLIC_KEY": running.where["key"],
            },
        )


@dataclass
class Installation:
    """An api and an ingest in processes of their own."""

    environ: dict[str, str]
    telegram: Telegram
    folder: Path
    programs: ExitStack
    is_interrupted: bool
    ingest: subprocess.Popen[str]
    kills: int = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.environ['API_PORT']}"

    @property
    def owner_link(self) -> str:
        """The link that the log of the api has for the first owner."""
        match = re.search(
            r'"(http[^"]+/start\?code=\w+)"', (self.folder / "api.log").read_text(encoding="utf-8")
        )
        assert match is not None
        return match[1]

    def interrupt(self) -> bool:
        """Kills the ingest at once and starts another, if this installation is one that is interrupted."""
        if self.is_interrupted:
            kill(self.ingest)
            self.kills += 1
            self.ingest = self.programs.enter_context(
                program(*INGEST, environ=self.environ, log=self.folder / "ingest.log")
            )
        return self.is_interrupted


@asynccontextmanager
async def empty_installation(
    own: dict[str, str], folder: Path, *, is_interrupted: bool
) -> AsyncIterator[Installation]:
    """The programs of an installation in a database that nobody has used yet."""
    with telegram() as made, running_engine("redis", folder / "redis") as redis, ExitStack() as programs:
        environ = own | {
            **made.settings,
            **{f"{role}_PORT": str(free_port()) for role in ("INGEST", "API")},
            "REDIS_URL": redis.url,
            "HTTP_HOST": "127.0.0.1",
            "S3_ENDPOINT": "",
            "FILES_DIR": str(folder / "files"),
            "SESSION_ENCRYPTION_KEY": make_key(),
            "PARSER_SCHEDULER_INTERVAL_SEC": "5",
        }
        programs.enter_context(
            program(*API, environ={**environ, "GIGACHAT_CREDENTIALS": "a secret"}, log=folder / "api.log")
        )
        ingest = programs.enter_context(program(*INGEST, environ=environ, log=folder / "ingest.log"))
        yield Installation(environ, made, folder, programs, is_interrupted, ingest)
