"""The texts and channels of the unruly world: a data file that was frozen before anything was measured."""

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from telegram_simulator.world.demo.packs import Manner, make_manner, packs
from telegram_simulator.world.demo.plan import Piece


@dataclass(frozen=True, slots=True)
class Turn:
    """How a story of one kind turns, in two wordings of each language."""

    state: str
    words: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class UnrulyPack:
    """All of it. `networks` and `copyists` are by owner and by the name of the agency."""

    manners: tuple[Manner, ...]
    networks: Mapping[str, tuple[Manner, ...]]
    copyists: Mapping[str, tuple[Manner, ...]]
    signatures: Mapping[str, tuple[Piece, ...]]
    """By the name of the channel that signs so."""
    turns: Mapping[str, Turn]
    texts: Mapping[str, Any]
    """The other tables of the file."""

    def owner_of(self, channel: Manner) -> str:
        """The owner of a channel: its network, or itself."""
        return next((owner for owner, channels in self.networks.items() if channel in channels), channel.name)


def _file() -> Traversable:
    return files("telegram_simulator.world.unruly") / "pack.toml"


def unruly_sha256() -> str:
    return hashlib.sha256(_file().read_bytes()).hexdigest()


@cache
def unruly_pack() -> UnrulyPack:
    """The pack, read once."""
    tables = tomllib.loads(_file().read_text(encoding="utf-8"))
    networks: dict[str, list[Manner]] = {}
    copyists: dict[str, list[Manner]] = {}
    manners = list(packs().channels)
    for table in tables.pop("channel"):
        network, agency = table.pop("network", ""), table.pop("agency", "")
        manners.append(make_manner(len(manners), table, packs().voices))
        groups, name = (networks, network) if network else (copyists, agency)
        groups.setdefault(name, []).append(manners[-1])
    signatures = {
        channel.name: _linked_pieces(tables["signatures"][network])
        for network, channels in networks.items()
        for channel in channels
    }
    habits = {
        name: ((f"{words} ", "", ""), (address, "text_url", address))
        for name, (words, address) in tables["habits"].items()
    }
    return UnrulyPack(
        tuple(manners),
        {name: tuple(channels) for name, channels in networks.items()},
        {name: tuple(channels) for name, channels in copyists.items()},
        {**signatures, **habits},
        {event: Turn(table.pop("state"), table) for event, table in tables.pop("turns").items()},
        tables,
    )


def _linked_pieces(parts: Sequence[str]) -> tuple[Piece, ...]:
    """From words and address, words between, and again words and address."""
    words, address, between, more_words, more_address = parts
    pieces = ((words, "text_url", address), (between, "", ""), (more_words, "text_url", more_address))
    return tuple(piece for piece in pieces if piece[0])
