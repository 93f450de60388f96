"""How AI providers are doing: running and waiting calls, pauses, and the results that wait for them."""

from dataclasses import dataclass

from telegram_assistant.ai.providers import list_configured
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.understanding.provider_wanted import ProviderWanted
from telegram_assistant.stores.redis.ai_streams import AiStreams, StreamUse


@dataclass(frozen=True, slots=True)
class ProvidersStatus:
    """The use of each configured provider by its name; `results_waiting` are local results to improve."""

    providers: dict[str, StreamUse]
    results_waiting: int


async def read_status(
    *, settings: Settings, streams: AiStreams, provider_wanted: ProviderWanted
) -> ProvidersStatus:
    providers = {name: await streams.use(name) for name in list_configured(settings)}
    return ProvidersStatus(providers, await provider_wanted.waiting())
