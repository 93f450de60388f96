"""What may understand a tenant's channels: off, on this machine, or by a provider; and the consent that a provider needs."""

from collections.abc import Sequence
from dataclasses import dataclass

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.errors import Conflicting, Missing
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.understanding.ai_choices import AiDefaults, ChannelPolicy

NO_CONSENT = "texts may go to a provider only after an owner has consented; `tga ai consent` or the consent of the API records it"


@dataclass(frozen=True, slots=True)
class PolicyInForce:
    """What was chosen for a channel, and what holds: without consent `provider` is `local`, and what the operator has blocked is off."""

    channel: ChannelPolicy
    in_force: AiPolicy


@dataclass(frozen=True, slots=True)
class PolicyPage:
    """Without `next`, there are no more."""

    policies: tuple[PolicyInForce, ...]
    next: ChannelId | None


async def stance(*, stores: TenantStores) -> AiDefaults:
    """What holds for channels to come, and the consent, if there is one."""
    return await stores.ai.stance()


async def policies(*, stores: TenantStores, limit: int = 1000, after: ChannelId | None = None) -> PolicyPage:
    """Of every followed channel, by id; `after` is the last one of the page above."""
    consented = (await stores.ai.stance()).consent is not None
    found = await stores.ai.policies(limit=limit + 1, after=after)
    shown = tuple(PolicyInForce(one, _in_force(one, consented=consented)) for one in found[:limit])
    return PolicyPage(shown, found[limit - 1].channel_id if len(found) > limit else None)


async def choose_policy(channel_ids: Sequence[ChannelId], policy: AiPolicy, *, stores: TenantStores) -> tuple[PolicyInForce, ...]:
    """All of them or none. Missing where one is not followed, Conflicting for a provider without consent."""
    await _consented(policy, stores)
    if set(channel_ids) - set(await stores.followed.some(set(channel_ids))):
        raise Missing("there is no such channel among those that are followed")
    chosen = await stores.ai.choose(channel_ids, policy)
    consented = (await stores.ai.stance()).consent is not None
    return tuple(PolicyInForce(one, _in_force(one, consented=consented)) for one in chosen)


async def choose_default(policy: AiPolicy, *, stores: TenantStores) -> AiDefaults:
    """For channels that are followed from now on without a word about it."""
    await _consented(policy, stores)
    await stores.ai.choose_default(policy)
    return await stores.ai.stance()


async def consent(*, by: str, stores: TenantStores) -> AiDefaults:
    """An owner says that texts may be sent to a provider. The first word stays on record."""
    await stores.ai.consent(given_by=by)
    return await stores.ai.stance()


async def withdraw_consent(*, stores: TenantStores) -> bool:
    """From now on nothing is sent for this tenant, whatever is chosen. False when there was no consent."""
    return await stores.ai.withdraw()


async def _consented(policy: AiPolicy, stores: TenantStores) -> None:
    if policy is AiPolicy.PROVIDER and (await stores.ai.stance()).consent is None:
        raise Conflicting(NO_CONSENT)


def _in_force(one: ChannelPolicy, *, consented: bool) -> AiPolicy:
    if one.is_blocked:
        return AiPolicy.OFF
    return AiPolicy.LOCAL if one.chosen is AiPolicy.PROVIDER and not consented else one.chosen
