"""How Telegram answers impatience: budgets per account and method, waits, and longer waits for those who do not listen.

The rules are what people have observed; Telegram publishes none. Penalties belong to the account, so they survive reconnects.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

DAY = 86_400


@dataclass(frozen=True, slots=True)
class Rule:
    """At most `calls` within `seconds`; one more costs a wait of `wait_seconds`."""

    calls: int
    seconds: float
    wait_seconds: int
    premium_waits: bool = True
    """False where premium accounts are let through, and others wait with FLOOD_PREMIUM_WAIT."""


TELEGRAM: Mapping[str, tuple[Rule, ...]] = {
    "messages.getHistory": (Rule(30, 30, 3),),
    "channels.getMessages": (Rule(30, 30, 30),),
    "contacts.resolveUsername": (Rule(50, 10, 54_000), Rule(30, 60, 300), Rule(200, 3600, 49_680)),
    "messages.getDialogs": (Rule(10, 60, 28), Rule(60, 3600, 53_280)),
    "channels.joinChannel": (Rule(3, 300, 300), Rule(30, DAY, DAY)),
    "messages.importChatInvite": (Rule(3, 300, 300), Rule(30, DAY, DAY)),
    "channels.getFullChannel": (Rule(20, 60, 26),),
    "upload.getFile": (Rule(600, 60, 3, premium_waits=False),),
    "auth.sendCode": (Rule(5, DAY, DAY),),
}

FORGIVEN_AFTER_SECONDS = 600
LONGEST_WAIT_SECONDS = 7 * DAY


@dataclass(slots=True)
class Meter:
    """One account's use of one method."""

    called_at: deque[float] = field(default_factory=deque)
    blocked_until: float = 0.0
    violations: int = 0
    violated_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Wait:
    """How long to wait, and what kind of wait it is."""

    seconds: int
    premium: bool

    @property
    def message(self) -> str:
        return f"{'FLOOD_PREMIUM_WAIT' if self.premium else 'FLOOD_WAIT'}_{self.seconds}"


class Floods:
    """All meters. `rules` may be changed while it runs; an empty mapping lets everything through."""

    def __init__(self, rules: Mapping[str, tuple[Rule, ...]] = TELEGRAM) -> None:
        self.rules = dict(rules)
        self.punished = 0
        self._meters: dict[tuple[str, str], Meter] = {}

    def check(self, who: str, method: str, *, now: float, premium: bool, cost: int = 1) -> Wait | None:
        """Count a call, or say how long to wait. Asking during a wait gives what is left of it, and makes the next one longer."""
        rules = self.rules.get(method)
        if not rules:
            return None
        meter = self._meters.setdefault((who, method), Meter())
        longest = max(rule.seconds for rule in rules)
        while meter.called_at and meter.called_at[0] <= now - longest:
            meter.called_at.popleft()
        if now < meter.blocked_until:
            meter.violations += 1
            meter.violated_at = now
            self.punished += 1
            return Wait(max(1, round(meter.blocked_until - now)), premium=not rules[0].premium_waits)
        if now - max(meter.blocked_until, meter.violated_at) > FORGIVEN_AFTER_SECONDS:
            meter.violations = 0
        for rule in rules:
            if premium and not rule.premium_waits:
                continue
            recent = sum(1 for moment in meter.called_at if moment > now - rule.seconds)
            if recent + cost > rule.calls:
                wait = min(rule.wait_seconds * 2 ** min(meter.violations, 10), LONGEST_WAIT_SECONDS)
                meter.blocked_until = now + wait
                meter.violations += 1
                meter.violated_at = now
                self.punished += 1
                return Wait(wait, premium=not rule.premium_waits)
        meter.called_at.extend([now] * cost)
        return None

    def waits(self, now: float) -> dict[str, float]:
        """Who must wait for what, and how long still."""
        return {f"{who} {method}": round(meter.blocked_until - now, 1) for (who, method), meter in self._meters.items() if meter.blocked_until > now}

    def forget(self) -> None:
        self._meters.clear()
