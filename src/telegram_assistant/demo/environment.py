"""The environment that the demo gives to the program it runs, and the answer."""

from collections.abc import Callable
from dataclasses import dataclass

from telegram_assistant.demo.folder import DemoFolder
from telegram_assistant.demo.processes import StartedProcess
from telegram_assistant.demo.progress import DemoProgress
from telegram_assistant.demo.servers import ServerSettings
from telegram_assistant.demo.simulator import SimulatedTelegram
from telegram_assistant.demo.stopping import Stopping


@dataclass(frozen=True, slots=True)
class OpenDemo:
    """A demo that can be used: its address, a link that lets a browser in once, and a key for the API."""

    address: str
    login: str
    key: str


@dataclass(frozen=True, slots=True)
class DemoEnvironment:
    """The folder, address, servers and callbacks that the demo gives to the program that it runs."""

    folder: DemoFolder
    host: str
    port: int
    servers: ServerSettings
    telegram: SimulatedTelegram
    background: StartedProcess
    """Waits for the settings of the ingest and worker roles."""
    stopping: Stopping
    progress: DemoProgress
    announce: Callable[[OpenDemo], None]
