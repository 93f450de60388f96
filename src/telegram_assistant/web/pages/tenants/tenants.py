"""Tenants, for the operator: create, suspend, resume; quotas and budgets; accounts at risk."""

from decimal import Decimal, InvalidOperation
from uuid import UUID

from starlette.responses import Response

from telegram_assistant.ai.prices import read_prices
from telegram_assistant.domain.accounts.account_risk import Risk
from telegram_assistant.errors import Rejected
from telegram_assistant.features.tenants import tenants
from telegram_assistant.features.understanding.spending import micro_of
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.redis.rate_limits import RateLimits
from telegram_assistant.web.views import Content, TenantView, go, uuid_of

TENANTS_PER_PAGE = 50
MAX_WHY_LETTERS = 500
GIGABYTE = 2**30
MILLION = 1_000_000
MAX_BYTES = 2**63 - 1
MAX_TOKENS = 2**63 - 1


async def show(view: TenantView) -> Content:
    operations = view.app.api.tenant_operations
    page = await tenants.list_tenants(
        tenants=operations, limit=TENANTS_PER_PAGE, after=view.query("after") or None
    )
    return {
        "page": page,
        "risks": await tenants.all_accounts(
            tenants=operations, stores_of=view.app.tenant, now=view.now, min_risk=Risk.CAREFUL
        ),
        "unit": read_prices(view.app.settings.ai.prices).unit,
        "common_quota": view.app.settings.files.quota_bytes or None,
        "money": _money,
        "gigabytes": _gigabytes,
        "is_first": not view.query("after"),
    }


async def create(view: TenantView) -> Response:
    name = view.text("name").strip()
    view.note(name=name)
    await tenants.create_tenant(name, tenants=view.app.api.tenant_operations)
    return go(view.url("/operations/tenants"))


async def suspend(view: TenantView) -> Response:
    why = view.text("why").strip()
    if not why.isprintable() or not 0 < len(why) <= MAX_WHY_LETTERS:
        why_needed = Reason(
            "suspension_needs_reason",
            "give the reason in at most {max_letters} characters; its members see it",
            max_letters=MAX_WHY_LETTERS,
        )
        raise Rejected(why_needed)
    view.note(reason=why)
    drop_cached_keys = RateLimits(view.app.redis).drop_cached_keys
    await tenants.suspend_tenant(
        _tenant_in_path(view),
        why=why,
        tenants=view.app.api.tenant_operations,
        drop_cached_keys=drop_cached_keys,
    )
    return go(view.url("/operations/tenants"))


async def resume(view: TenantView) -> Response:
    drop_cached_keys = RateLimits(view.app.redis).drop_cached_keys
    await tenants.resume_tenant(
        _tenant_in_path(view), tenants=view.app.api.tenant_operations, drop_cached_keys=drop_cached_keys
    )
    return go(view.url("/operations/tenants"))


async def set_quota(view: TenantView) -> Response:
    max_bytes = _bytes(view.text("gigabytes"))
    view.note(max_bytes=max_bytes)
    await tenants.set_media_quota(_tenant_in_path(view), max_bytes, tenants=view.app.api.tenant_operations)
    return go(view.url("/operations/tenants"))


async def set_budget(view: TenantView) -> Response:
    micro, token_count = micro_of(view.text("money").strip().replace(",", ".")), _tokens(view.text("tokens"))
    view.note(micro=micro, tokens=token_count)
    await tenants.set_budget(
        _tenant_in_path(view), micro=micro, tokens=token_count, tenants=view.app.api.tenant_operations
    )
    return go(view.url("/operations/tenants"))


def _tenant_in_path(view: TenantView) -> UUID:
    return uuid_of(view.request.path_params["chosen"])


def _bytes(text: str) -> int | None:
    """A quota in bytes; None if the field is empty, for that of the installation."""
    wrong = Rejected(Reason("quota_unreadable", "write the quota as a number of gigabytes, like 20 or 0.5"))
    if not text.strip():
        return None
    try:
        size = Decimal(text.strip().replace(",", ".")) * GIGABYTE
    except InvalidOperation as error:
        raise wrong from error
    if not size.is_finite() or not 0 <= size <= MAX_BYTES:
        raise wrong
    return int(size)


def _tokens(text: str) -> int | None:
    """A number of tokens; None if the field is empty, for no limit."""
    text = text.strip().replace(" ", "")
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or int(text) > MAX_TOKENS:
        raise Rejected(
            Reason("tokens_unreadable", "write the tokens as a whole number, or leave the field empty")
        )
    return int(text)


def _gigabytes(size_bytes: int | None) -> str:
    """A quota as its field shows it."""
    return "" if size_bytes is None else f"{(Decimal(size_bytes) / GIGABYTE).normalize():f}"


def _money(micro: int) -> str:
    """A budget as its field shows it."""
    return f"{(Decimal(micro) / MILLION).normalize():f}"
