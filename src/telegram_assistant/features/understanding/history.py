"""Understanding posts that are already stored: what the last days cost at most, and the order to do it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from telegram_assistant.ai.local.tagging import LOCAL_MODEL
from telegram_assistant.ai.prices import read_prices
from telegram_assistant.ai.prompting import prompt
from telegram_assistant.ai.providers import first_chat_model
from telegram_assistant.ai.questions import TAGGING, TAGS_TOKENS, list_by_topic
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.spending import Tokens, UsageLine
from telegram_assistant.errors import Rejected
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import Settings
from telegram_assistant.stores.postgres.posts.replays import Outdated, Replays, ResultVersion
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.stores.postgres.understanding.tag_use import KnownTag
from telegram_assistant.stores.postgres.understanding.vocabularies import Vocabularies

MAX_DAYS = 366


@dataclass(frozen=True, slots=True)
class ChannelPrice:
    """The outdated posts of a channel, and what a provider takes for them at most."""

    outdated: Outdated
    micro: int | None
    """None: no provider is configured."""


@dataclass(frozen=True, slots=True)
class HistoryPrice:
    """The highest price of understanding history, in millionths of `unit`.

    Copies and known answers make it cheaper.
    """

    channels: tuple[ChannelPrice, ...]
    provider: str | None
    unit: str

    @property
    def local(self) -> int:
        """Posts that this machine tags, for nothing."""
        return sum(channel.outdated.local for channel in self.channels)

    @property
    def by_provider(self) -> int:
        """Posts that a provider may tag."""
        return sum(channel.outdated.provider for channel in self.channels) if self.provider else 0

    @property
    def micro(self) -> int:
        return sum(channel.micro or 0 for channel in self.channels)


@dataclass(frozen=True, slots=True)
class HistoryOrder:
    """How many posts will be tagged: here, and by a provider as long as the budget lasts."""

    local: int
    by_provider: int


@dataclass(frozen=True, slots=True)
class SavedPosts:
    """Posts with a provider's answer, and those of them that were copies or whose answer was known."""

    answered: int
    free: int


def current_version() -> ResultVersion:
    """The version of today's tags."""
    return ResultVersion(LOCAL_MODEL, prompt(TAGGING).label, TAGGING)


def price_of(
    outdated_posts: Sequence[Outdated], tags: Iterable[Mapping[str, str]], *, settings: Settings
) -> HistoryPrice:
    """The highest price: one token per character, the whole vocabulary with each post, no duplicate texts.

    `tags` are topics by tag, per language.
    """
    prices, model = read_prices(settings.ai.prices), first_chat_model(settings)
    fixed_count = len(prompt(TAGGING).text) + max((len(list_by_topic(tag)) for tag in tags), default=0)

    def micro(channel: Outdated) -> int | None:
        tokens = Tokens(channel.characters + channel.provider * fixed_count, channel.provider * TAGS_TOKENS)
        return None if model is None else prices.price_of(model.provider, model.name).cost_of(tokens)

    return HistoryPrice(
        tuple(ChannelPrice(channel, micro(channel)) for channel in outdated_posts),
        model.provider if model else None,
        prices.unit,
    )


async def find_outdated_posts(
    *, replays: Replays, since: datetime, channel_id: ChannelId | None = None
) -> tuple[Outdated, ...]:
    """Channels of the whole installation with posts since then that lack today's tags."""
    return await replays.list_outdated(current_version(), since=since, channel_id=channel_id)


async def price_outdated_posts(
    outdated_posts: Sequence[Outdated], *, vocabularies: Vocabularies, settings: Settings
) -> HistoryPrice:
    return price_of(outdated_posts, (await vocabularies.current()).tags.values(), settings=settings)


async def tag_channel_again(
    channel_id: ChannelId, *, replays: Replays, since: datetime, is_paid: bool
) -> HistoryOrder:
    """Queues the outdated posts of a channel since then, after all new ones.

    Only with `is_paid` a provider is asked, within the budgets.
    """
    version = current_version()
    local = await replays.replay(version, channel_id, since=since)
    by_provider = await replays.want(version, channel_id, since=since) if is_paid else 0
    return HistoryOrder(local, by_provider)


async def price_history(
    days: int, *, stores: TenantStores, settings: Settings, now: datetime
) -> HistoryPrice:
    """The highest price of understanding a tenant's posts of the last days. Nothing is spent."""
    outdated_posts = await stores.history.list_outdated(current_version(), since=_since(days, now))
    return price_of(outdated_posts, _by_language(await stores.tag_use.vocabulary()), settings=settings)


async def understand_history(
    days: int, *, is_paid: bool, stores: TenantStores, now: datetime
) -> HistoryOrder:
    """Queues a tenant's posts of the last days, after all new ones.

    Only with `is_paid` a provider is asked, within the budget.
    """
    local, by_provider = await stores.history.want(
        current_version(), since=_since(days, now), is_paid=is_paid
    )
    return HistoryOrder(local, by_provider)


async def count_saved_posts(
    lines: Iterable[UsageLine], *, since: datetime, stores: TenantStores
) -> SavedPosts | None:
    """How many posts got a provider's answer, and for how many nothing was paid;
    `lines` are what was paid since then. None: no answers.
    """
    answered_count = await stores.history.count_answered(since)
    paid_count = sum(line.calls for line in lines if line.purpose == TAGGING and line.status == "ok")
    return SavedPosts(answered_count, max(0, answered_count - paid_count)) if answered_count else None


def _since(days: int, now: datetime) -> datetime:
    if not 1 <= days <= MAX_DAYS:
        raise Rejected(Reason("days_out_of_range", "choose between 1 and {max_days} days", max_days=MAX_DAYS))
    return now - timedelta(days=days)


def _by_language(vocabulary: Sequence[KnownTag]) -> Iterable[Mapping[str, str]]:
    tags: dict[str, dict[str, str]] = {}
    for entry in vocabulary:
        if not entry.is_retired:
            tags.setdefault(entry.language, {})[entry.tag] = entry.topic
    return tags.values()
