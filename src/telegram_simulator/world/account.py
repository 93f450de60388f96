"""An account that clients log in with."""

from dataclasses import dataclass, field

FROZEN = (420, "FROZEN_METHOD_INVALID")
BANNED = (401, "USER_DEACTIVATED_BAN")


@dataclass(frozen=True, slots=True)
class Riddle:
    """What was asked of somebody who claims to know the password: good for one answer."""

    number: int
    secret: int
    verifier: int


@dataclass(slots=True)
class Account:
    """Who is asking. Trouble is kept as the error that calls get."""

    phone: str
    user_id: int
    name: str
    premium: bool = False
    joined: set[int] = field(default_factory=set)
    trouble: tuple[int, str] | None = None
    pts: int = 1
    code_hash: str | None = None
    password: str | None = None
    """The two-step password, if there is one."""
    riddle: Riddle | None = None

    @property
    def most_channels(self) -> int:
        return 1000 if self.premium else 500
