"""Analysis of posts: the choice of models, the data that leaves this machine, and the cost."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from starlette.responses import Response

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.domain.understanding.spending import UsageLine
from telegram_assistant.errors import Rejected
from telegram_assistant.features.tenants import tenants
from telegram_assistant.features.understanding import ai_policies, history, spending
from telegram_assistant.reasons import Reason
from telegram_assistant.web.views import FORM_DAMAGED, Content, TenantView, go

SHOWN_DAYS = 30
SHOWN_CHANNELS = 100


@dataclass(frozen=True, slots=True)
class CostBar:
    """The cost of one day, as a bar: its place and height in percent of the chart."""

    day: date
    micro: int
    x: float
    height: float


async def show(view: TenantView) -> Content:
    settings, since = view.app.settings, view.now - timedelta(days=SHOWN_DAYS)
    receivers = ai_policies.receivers(settings)
    page = await ai_policies.policies(stores=view.stores, limit=SHOWN_CHANNELS, after=_read_cursor(view))
    spent = await spending.usage(since, stores=view.stores, prices=settings.ai.prices)
    days = view.query("days")
    return {
        "stance": await ai_policies.stance(stores=view.stores),
        "policies": page,
        "policy_values": tuple(AiPolicy),
        "receivers": receivers,
        "sends_searches": settings.ai.embeddings.value in {receiver.name for receiver in receivers},
        "budget": (await spending.budget(stores=view.stores, prices=settings.ai.prices)).budget,
        "unit": spent.unit,
        "spent": spent,
        "bars": _bars(spent.lines, first_day=since.date(), last_day=view.now.date()),
        "by_provider": _sums((line.provider, line.micro) for line in spent.lines),
        "by_purpose": _sums((line.purpose, line.micro) for line in spent.lines),
        "saved": await history.count_saved_posts(spent.lines, since=since, stores=view.stores),
        "days": days,
        "price": await history.price_history(
            _number(days), stores=view.stores, settings=settings, now=view.now
        )
        if days
        else None,
        "max_days": history.MAX_DAYS,
        "done": view.query("done"),
        "queued": {
            name: int(view.query(name)) for name in ("local", "provider") if view.query(name).isdecimal()
        },
    }


async def choose_default(view: TenantView) -> Response:
    policy = _policy(view)
    await ai_policies.choose_default(policy, stores=view.stores)
    view.note(policy=policy.value)
    return go(view.url("/ai?done=saved"))


async def choose_policies(view: TenantView) -> Response:
    policy, channel_ids = (
        _policy(view),
        [ChannelId(_number(str(value))) for value in view.form.getlist("channel")],
    )
    if not channel_ids:
        raise Rejected(Reason("no_channel_marked", "select at least one channel first"))
    await ai_policies.choose_policy(channel_ids, policy, stores=view.stores)
    view.note(policy=policy.value, channels=len(channel_ids))
    return go(view.url("/ai?done=saved#channels"))


async def consent(view: TenantView) -> Response:
    await ai_policies.consent(by=view.person.name, stores=view.stores)
    return go(view.url("/ai?done=consent"))


async def withdraw_consent(view: TenantView) -> Response:
    await ai_policies.withdraw_consent(stores=view.stores)
    return go(view.url("/ai?done=withdrawn"))


async def set_budget(view: TenantView) -> Response:
    micro = spending.micro_of(view.text("money").strip().replace(",", "."))
    await tenants.set_budget(
        view.membership.tenant, micro=micro, tokens=None, tenants=view.app.api.tenant_operations
    )
    view.note(micro=micro)
    return go(view.url("/ai?done=saved"))


async def understand(view: TenantView) -> Response:
    days, is_paid = _number(view.text("days")), view.text("paid") == "yes"
    order = await history.understand_history(days, is_paid=is_paid, stores=view.stores, now=view.now)
    view.note(days=days, posts=order.local, paid_posts=order.by_provider)
    return go(view.url(f"/ai?done=queued&local={order.local}&provider={order.by_provider}"))


def _policy(view: TenantView) -> AiPolicy:
    try:
        return AiPolicy(view.text("policy"))
    except ValueError as error:
        raise Rejected(Reason("policy_unknown", "choose one of the policies that the page offers")) from error


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > len(str(2**63)):
        raise Rejected(FORM_DAMAGED)
    return int(text)


def _read_cursor(view: TenantView) -> ChannelId | None:
    return ChannelId(_number(view.query("after"))) if view.query("after") else None


def _bars(lines: Iterable[UsageLine], *, first_day: date, last_day: date) -> tuple[CostBar, ...]:
    cost = _sums((line.day, line.micro) for line in lines)
    count, highest = (last_day - first_day).days + 1, max(cost.values(), default=0)
    if not highest:
        return ()
    days = [first_day + timedelta(days=number) for number in range(count)]
    return tuple(
        CostBar(
            day, cost.get(day, 0), round(100 * number / count, 2), round(100 * cost.get(day, 0) / highest, 2)
        )
        for number, day in enumerate(days)
    )


def _sums[K](amounts: Iterable[tuple[K, int]]) -> Mapping[K, int]:
    """The sum for each key, the largest first."""
    sums: dict[K, int] = defaultdict(int)
    for key, amount in amounts:
        sums[key] += amount
    return dict(sorted(sums.items(), key=lambda pair: -pair[1]))
