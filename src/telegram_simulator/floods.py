"""How Telegram answers impatience: budgets per account and method, waits, and longer waits for those who do
not listen.

The rules are what people have observed; Telegram publishes none. Penalties belong to the account, so they
survive reconnects.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

DAY = 86_400


@dataclass(frozen=True, slots=True)
class Rule:
    """At most `calls` within any `seconds`; one more costs a wait of `wait_seconds`."""

    calls: int
    seconds: float
    wait_seconds: int
    premium_waits: bool = True
    """False where premium accounts are let through, and others wait with FLOOD_PREMIUM_WAIT."""


TELEGRAM: Mapping[str, tuple[Rule, ...]] = {
    "messages.getHistory": (Rule(30, 30, 3),),
    "channels.getMessages": (Rule(30, 30, 30),),
    "contacts.resolveUsername": (Rule(30, 60, 300), Rule(200, 3600, 49_680)),
    "messages.getDialogs": (Rule(10, 60, 28), Rule(60, 3600, 53_280)),
    "channels.joinChannel": (Rule(3, 300, 300), Rule(30, DAY, DAY)),
    "messages.importChatInvite": (Rule(3, 300, 300), Rule(30, DAY, DAY)),
    "channels.getFullChannel": (Rule(20, 60, 26),),
    "upload.getFile": (Rule(600, 60, 3, premium_waits=False),),
    "auth.sendCode": (Rule(5, DAY, DAY),),
}

FORGIVEN_AFTER_SECONDS = 600
IGNORED_PER_STEP, STEP = 30, 4
"""Every 30 calls during one wait make it four times as long: 160 names resolved in seconds cost the better
part of a day.
"""
MAX_WAIT_SECONDS = 7 * DAY


@dataclass(slots=True)
class Meter:
    """One account's use of one method: when it called, and the wait that was imposed.

    A wait that was kept clears the past.
    """

    called_at: deque[float] = field(default_factory=deque)
    blocked_until: float = 0.0
    wait_seconds: int = 0
    ignored: int = 0
    violations: int = 0


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

    def check(self, caller: str, method: str, *, now: float, is_premium: bool, cost: int = 1) -> Wait | None:
        """Count a call, or say how long to wait.

        Asking during a wait gives what is left of it, and makes the next one longer.
        """
        rules = tuple(rule for rule in self.rules.get(method, ()) if rule.premium_waits or not is_premium)
        if not rules:
            return None
        meter = self._meters.setdefault((caller, method), Meter())
        if now < meter.blocked_until:
            return self._punish_ignoring(meter, now, premium_only=not rules[0].premium_waits)
        if now - meter.blocked_until > FORGIVEN_AFTER_SECONDS:
            meter.violations = 0
        longest = max(rule.seconds for rule in rules)
        while meter.called_at and meter.called_at[0] <= now - longest:
            meter.called_at.popleft()
        for rule in sorted(rules, key=lambda rule: -rule.wait_seconds):
            if sum(moment > now - rule.seconds for moment in meter.called_at) + cost > rule.calls:
                return self._block_meter(meter, now, rule)
        meter.called_at.extend([now] * cost)
        return None

    def _block_meter(self, meter: Meter, now: float, rule: Rule) -> Wait:
        meter.wait_seconds = min(rule.wait_seconds * 2 ** min(meter.violations, 10), MAX_WAIT_SECONDS)
        meter.blocked_until = now + meter.wait_seconds
        meter.ignored = 0
        meter.violations += 1
        meter.called_at.clear()
        self.punished += 1
        return Wait(meter.wait_seconds, premium=not rule.premium_waits)

    def _punish_ignoring(self, meter: Meter, now: float, *, premium_only: bool) -> Wait:
        meter.ignored += 1
        meter.violations += 1
        self.punished += 1
        if meter.ignored % IGNORED_PER_STEP == 0:
            meter.wait_seconds = min(meter.wait_seconds * STEP, MAX_WAIT_SECONDS)
            meter.blocked_until = now + meter.wait_seconds
        return Wait(max(1, round(meter.blocked_until - now)), premium=premium_only)

    def waits(self, now: float) -> dict[str, float]:
        """The seconds that each account must still wait, by account and method."""
        return {
            f"{account} {method}": round(meter.blocked_until - now, 1)
            for (account, method), meter in self._meters.items()
            if meter.blocked_until > now
        }

    def forget(self) -> None:
        self._meters.clear()
