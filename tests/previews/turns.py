"""Nobody waits, and what was asked for is remembered."""

from dataclasses import dataclass, field


@dataclass
class EverybodysTurn:
    turns: int = 0
    rests: list[float] = field(default_factory=list)

    async def next(self) -> None:
        self.turns += 1

    async def rest(self, seconds: float) -> None:
        self.rests.append(seconds)
