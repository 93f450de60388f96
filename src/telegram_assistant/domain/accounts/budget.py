"""How often an account may send requests to Telegram: token buckets per method, as pure values.

Telegram publishes no limits. These are limits that others have observed, with a margin. A method may have
several limits, for a minute, an hour and a day; a request needs a token of each. Times are seconds of any one
clock.
"""

from dataclasses import dataclass, replace

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0

SLOWDOWN, SLOWEST = 0.7, 0.1
RECOVERY_PER_HOUR = 0.02
"""After a flood wait an account stays slower for a long time, because Telegram remembers for a long time."""
ROUNDING = 1e-6
"""The part of a token that may be missing, because sums of fractions are never exact."""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `burst + per_second * t` requests in any t seconds."""

    burst: float
    per_second: float
    only_first_pages: bool = False
    """Counts only the first page of each list."""


def at_most(calls: float, seconds: float, *, at_once: float) -> Limit:
    """The limit of at most `calls` in any `seconds`, with a burst of `at_once`."""
    return Limit(at_once, (calls - at_once) / seconds)


@dataclass(frozen=True, slots=True)
class MethodBudget:
    """The limits of one method for an account. Methods that Telegram counts together share a budget."""

    method: str
    limits: tuple[Limit, ...]
    is_kept: bool = True
    """Whether it is stored before each request.

    A budget that is not stored starts empty instead; it refills within seconds.
    """
    slows_down: bool = False


def _budgets(*budgets: MethodBudget) -> dict[str, MethodBudget]:
    return {budget.method: budget for budget in budgets}


HISTORY = MethodBudget("messages.getHistory", (Limit(3, 0.8),), is_kept=False, slows_down=True)
CONNECT = MethodBudget("connect", (at_most(10, MINUTE, at_once=6),))
JOIN = MethodBudget("channels.joinChannel", (at_most(3, 5 * MINUTE, at_once=2), at_most(20, DAY, at_once=8)))
BUDGETS = _budgets(
    MethodBudget("channels.getMessages", (at_most(25, 30, at_once=10),)),  # counted in tens of ids
    MethodBudget(
        "contacts.resolveUsername",
        (at_most(20, MINUTE, at_once=4), at_most(60, HOUR, at_once=20), at_most(200, DAY, at_once=100)),
    ),
    MethodBudget(
        "messages.getDialogs",
        (
            Limit(1, 1.0),
            at_most(10, MINUTE, at_once=8),
            at_most(60, HOUR, at_once=30),
            Limit(1, 1 / MINUTE, only_first_pages=True),
        ),
    ),
    MethodBudget("channels.getFullChannel", (at_most(10, MINUTE, at_once=4),)),
    MethodBudget("upload.getFile", (Limit(16, 8.0),), is_kept=False),
    MethodBudget("auth.sendCode", (at_most(4, DAY, at_once=3),)),
    HISTORY,
    CONNECT,
    JOIN,
) | {"messages.importChatInvite": JOIN}


def budget_of(method: str) -> MethodBudget:
    """The budget of a method, by its name in Telegram's documentation. Unlisted methods are cheap."""
    return BUDGETS.get(method) or MethodBudget(method, (Limit(5, 1.0),), is_kept=False)


@dataclass(frozen=True, slots=True)
class Cost:
    """The amount that one request takes from its budget."""

    units: float = 1.0
    is_first_page: bool = True

    def amount_of(self, limit: Limit) -> float:
        return 0.0 if limit.only_first_pages and not self.is_first_page else self.units


@dataclass(frozen=True, slots=True)
class SavedMeter:
    """The stored state of a meter, in seconds relative to now, because the clocks of two machines differ."""

    blocked_seconds: float = 0.0
    tokens: tuple[float, ...] | None = None
    tokens_age_seconds: float = 0.0
    pace: float = 1.0
    pace_age_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Meter:
    """One account's use of one budget: the tokens left, how fast they refill,
    and until when Telegram blocks the method.
    """

    budget: MethodBudget
    tokens: tuple[float, ...]
    at: float
    blocked_until: float = float("-inf")
    pace: float = 1.0
    paced_at: float = 0.0

    def seconds_until(self, now: float, *costs: Cost) -> float:
        """How long until the budget allows the last of these requests."""
        available_tokens, pace = self.tokens_at(now), self.pace_at(now)
        needs = (sum(cost.amount_of(limit) for cost in costs) for limit in self.budget.limits)
        missing_tokens = (
            max(0.0, need - remaining_tokens - ROUNDING)
            for need, remaining_tokens in zip(needs, available_tokens, strict=True)
        )
        return max(
            tokens / (limit.per_second * pace)
            for tokens, limit in zip(missing_tokens, self.budget.limits, strict=True)
        )

    def take(self, now: float, cost: Cost) -> "Meter":
        """The meter after a request, which must have waited for its turn."""
        tokens = tuple(
            remaining_tokens - cost.amount_of(limit)
            for remaining_tokens, limit in zip(self.tokens_at(now), self.budget.limits, strict=True)
        )
        return replace(self, tokens=tokens, at=now)

    def give_back(self, cost: Cost) -> "Meter":
        """The meter after a request that turned out not to count."""
        return replace(
            self,
            tokens=tuple(
                remaining_tokens + cost.amount_of(limit)
                for remaining_tokens, limit in zip(self.tokens, self.budget.limits, strict=True)
            ),
        )

    def blocked_seconds(self, now: float) -> float:
        return max(0.0, self.blocked_until - now)

    def block(self, now: float, seconds: float) -> "Meter":
        """The meter after Telegram has asked to wait so long."""
        slower = max(SLOWEST, self.pace_at(now) * SLOWDOWN) if self.budget.slows_down else 1.0
        return replace(
            self,
            tokens=self.tokens_at(now),
            at=now,
            blocked_until=max(self.blocked_until, now + seconds),
            pace=slower,
            paced_at=now,
        )

    def pace_at(self, now: float) -> float:
        """How fast the budget refills: 1 is full speed."""
        return min(1.0, self.pace + RECOVERY_PER_HOUR * max(0.0, now - self.paced_at) / HOUR)

    def take_snapshot(self, now: float) -> SavedMeter:
        tokens = self.tokens_at(now) if self.budget.is_kept else None
        return SavedMeter(blocked_seconds=self.blocked_seconds(now), tokens=tokens, pace=self.pace_at(now))

    def tokens_at(self, now: float) -> tuple[float, ...]:
        """The tokens left of each limit."""
        elapsed_seconds, pace = max(0.0, now - self.at), self.pace_at(now)
        return tuple(
            min(limit.burst, remaining_tokens + limit.per_second * pace * elapsed_seconds)
            for remaining_tokens, limit in zip(self.tokens, self.budget.limits, strict=True)
        )


def meter_of(budget: MethodBudget, saved_meter: SavedMeter | None, now: float) -> Meter:
    """Restores a meter. Unknown tokens count as used, so that a crash never gives a token back."""
    if saved_meter is None:
        tokens = tuple(limit.burst if budget.is_kept else 0.0 for limit in budget.limits)
        return Meter(budget, tokens, now)
    has_known_tokens = saved_meter.tokens is not None and len(saved_meter.tokens) == len(budget.limits)
    tokens = (
        saved_meter.tokens
        if has_known_tokens and saved_meter.tokens is not None
        else (0.0,) * len(budget.limits)
    )
    return Meter(
        budget,
        tokens,
        at=now - saved_meter.tokens_age_seconds if has_known_tokens else now,
        blocked_until=now + saved_meter.blocked_seconds,
        pace=saved_meter.pace,
        paced_at=now - saved_meter.pace_age_seconds,
    )
