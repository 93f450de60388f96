"""AI policies of a tenant's channels (off, local or provider), and the consent that a provider needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from telegram_assistant.ai.providers import list_configured
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.errors import Conflicting, Missing
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.understanding.ai_choices import AiDefaults, ChannelPolicy

OPENAI_HOST = "api.openai.com"
NO_CONSENT = Reason(
    "consent_needed",
    "texts may go to a provider only after an owner has consented, on the page “AI and cost” or through "
    "the API",
)


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """The chosen policy and the one in force: without consent `provider` becomes `local`;
    a channel blocked by the operator is `off`.
    """

    channel: ChannelPolicy
    in_force: AiPolicy


@dataclass(frozen=True, slots=True)
class PolicyPage:
    """A page of policies; `next` is None on the last page."""

    policies: tuple[PolicyInForce, ...]
    next: ChannelId | None


@dataclass(frozen=True, slots=True)
class Receiver:
    """A provider that texts may be sent to, and its address."""

    name: str
    host: str


def receivers(settings: Settings) -> tuple[Receiver, ...]:
    """The providers that are configured. Empty: nothing leaves this machine."""
    addresses = {"gigachat": settings.gigachat.base_url, "openai": settings.openai.base_url}
    return tuple(
        Receiver(name, urlsplit(addresses[name]).hostname or OPENAI_HOST)
        for name in list_configured(settings)
    )


async def stance(*, stores: TenantStores) -> AiDefaults:
    """Returns the policy of newly followed channels, and the consent."""
    return await stores.ai.stance()


async def policies(*, stores: TenantStores, limit: int = 1000, after: ChannelId | None = None) -> PolicyPage:
    """Returns the policies of followed channels, ordered by id;
    `after` is the last channel of the previous page.
    """
    has_consented = (await stores.ai.stance()).consent is not None
    channel_policies = await stores.ai.policies(limit=limit + 1, after=after)
    page = tuple(
        PolicyInForce(channel_policy, _in_force(channel_policy, has_consented=has_consented))
        for channel_policy in channel_policies[:limit]
    )
    return PolicyPage(page, channel_policies[limit - 1].channel_id if len(channel_policies) > limit else None)


async def choose_policy(
    channel_ids: Sequence[ChannelId], policy: AiPolicy, *, stores: TenantStores
) -> tuple[PolicyInForce, ...]:
    """Changes all channels or none.

    Raises Missing if one is not followed, Conflicting for `provider` without consent.
    """
    await _require_consent(policy, stores)
    if set(channel_ids) - set(await stores.followed.some(set(channel_ids))):
        raise Missing(Reason("channel_not_followed", "you do not follow this channel"))
    chosen_policies = await stores.ai.choose(channel_ids, policy)
    has_consented = (await stores.ai.stance()).consent is not None
    return tuple(
        PolicyInForce(channel_policy, _in_force(channel_policy, has_consented=has_consented))
        for channel_policy in chosen_policies
    )


async def choose_default(policy: AiPolicy, *, stores: TenantStores) -> AiDefaults:
    """Sets the policy of channels that are followed from now on without naming one."""
    await _require_consent(policy, stores)
    await stores.ai.choose_default(policy)
    return await stores.ai.stance()


async def consent(*, by: str, stores: TenantStores) -> AiDefaults:
    """Records an owner's consent that texts may be sent to a provider. An earlier record stays."""
    await stores.ai.consent(given_by=by)
    return await stores.ai.stance()


async def withdraw_consent(*, stores: TenantStores) -> bool:
    """Withdraws the consent: nothing is sent for this tenant, whatever the policies.

    Returns False if there was no consent.
    """
    return await stores.ai.withdraw()


async def _require_consent(policy: AiPolicy, stores: TenantStores) -> None:
    if policy is AiPolicy.PROVIDER and (await stores.ai.stance()).consent is None:
        raise Conflicting(NO_CONSENT)


def _in_force(policy: ChannelPolicy, *, has_consented: bool) -> AiPolicy:
    if policy.is_blocked:
        return AiPolicy.OFF
    return AiPolicy.LOCAL if policy.chosen is AiPolicy.PROVIDER and not has_consented else policy.chosen
