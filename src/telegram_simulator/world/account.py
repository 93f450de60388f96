"""An account that clients log in with."""

from dataclasses import dataclass, field

FROZEN = (420, "FROZEN_METHOD_INVALID")
BANNED = (401, "USER_DEACTIVATED_BAN")
TROUBLES = {
    "ok": None,
    "frozen": FROZEN,
    "banned": BANNED,
    "revoked": (401, "SESSION_REVOKED"),
    "unregistered": (401, "AUTH_KEY_UNREGISTERED"),
}


@dataclass(frozen=True, slots=True)
class Riddle:
    """The challenge for somebody who claims to know the password: good for one answer."""

    number: int
    secret: int
    verifier: int


@dataclass(slots=True)
class LoginToken:
    """The login that a QR code offers. A user who is logged in may accept it for the client with the code."""

    key_id: bytes
    """Of the client that wants to be logged in."""
    expires: float
    not_for: frozenset[int] = frozenset()
    """Users who are logged in there already."""
    accepted_by: str | None = None
    used: bool = False


@dataclass(frozen=True, slots=True)
class Folder:
    """Chats that a person keeps together;
    `all_channels` stands for every joined channel but those taken out.
    """

    title: str
    channels: tuple[int, ...] = ()
    all_channels: bool = False
    without: tuple[int, ...] = ()


@dataclass(slots=True)
class Account:
    """A Telegram account. `trouble` is the error that its calls get."""

    phone: str
    user_id: int
    name: str
    home_dc: int
    """The data centre where it lives: logging in elsewhere leads there."""
    bot_token: str | None = None
    """A bot has one, and no phone: what stands for the phone here is made from its number."""
    premium: bool = False
    joined: set[int] = field(default_factory=set)
    trouble: tuple[int, str] | None = None
    pts: int = 1
    code_hash: str | None = None
    password: str | None = None
    """The two-step password, if there is one."""
    riddle: Riddle | None = None
    folders: dict[int, Folder] = field(default_factory=dict)

    @property
    def max_channels(self) -> int:
        return 1000 if self.premium else 500
