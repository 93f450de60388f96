"""The environment that the demo gives to the program it runs, and the answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from telegram_assistant.demo.folder import DemoFolder
from telegram_assistant.demo.processes import StartedProcess
from telegram_assistant.demo.progress import DemoProgress
from telegram_assistant.demo.servers import ServerSettings
from telegram_assistant.demo.simulator import SimulatedTelegram
from telegram_assistant.demo.stopping import Stopping
from telegram_assistant.reasons import Reason


@dataclass(frozen=True, slots=True)
class OpenDemo:
    """A demo that can be used: its address, a link that lets a browser in once, a key for the API,
    and for people: which parts of the program it shows.
    """

    address: str
    login: str
    key: str
    notes: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class DemoEnvironment:
    """The folder, address, servers and callbacks that the demo gives to the program that it runs."""

    folder: DemoFolder
    environ: Mapping[str, str]
    """Exported variables. The demo reads those that name servers and models."""
    host: str
    port: int
    servers: ServerSettings
    telegram: SimulatedTelegram
    background: StartedProcess
    """Waits for the settings of the ingest and worker roles."""
    stopping: Stopping
    progress: DemoProgress
    announce: Callable[[OpenDemo], None]
