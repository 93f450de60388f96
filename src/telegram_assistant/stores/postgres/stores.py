"""Builds the stores and decides the database role of each, here and nowhere else.

A store is a field of one of the classes below; it is built from its annotation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_type_hints

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.stores.postgres.accounts.accounts import Accounts, AccountSessions
from telegram_assistant.stores.postgres.accounts.limits import AccountLimits
from telegram_assistant.stores.postgres.accounts.logins import Logins
from telegram_assistant.stores.postgres.accounts.own_accounts import OwnAccounts
from telegram_assistant.stores.postgres.accounts.own_logins import OwnLogins
from telegram_assistant.stores.postgres.accounts.push_states import PushStates
from telegram_assistant.stores.postgres.accounts.telegram_setup import OwnTelegramSetup, TelegramSecrets
from telegram_assistant.stores.postgres.channels.activity import ChannelActivities
from telegram_assistant.stores.postgres.channels.backfills import Backfills
from telegram_assistant.stores.postgres.channels.channel_requests import ChannelRequests
from telegram_assistant.stores.postgres.channels.channels import Channels, Followed
from telegram_assistant.stores.postgres.channels.coverage import CoverageLedger, CoverageOverview
from telegram_assistant.stores.postgres.channels.folders import FollowedFolders
from telegram_assistant.stores.postgres.channels.hints import Hints
from telegram_assistant.stores.postgres.channels.joined_channels import JoinedChannels, JoinedListings
from telegram_assistant.stores.postgres.channels.joins import Joins
from telegram_assistant.stores.postgres.channels.known_channels import KnownChannels
from telegram_assistant.stores.postgres.channels.parked_channels import ParkedChannels
from telegram_assistant.stores.postgres.channels.planning import Planning
from telegram_assistant.stores.postgres.channels.previews import Previews
from telegram_assistant.stores.postgres.channels.records import ChannelRecords
from telegram_assistant.stores.postgres.channels.request_fates import RequestFates
from telegram_assistant.stores.postgres.channels.request_queue import RequestQueue
from telegram_assistant.stores.postgres.channels.schedule import Schedule
from telegram_assistant.stores.postgres.channels.silences import PostStatistics
from telegram_assistant.stores.postgres.database import (
    ApiTransactions,
    IngestTransactions,
    PersonTransactions,
    Pool,
    SystemTransactions,
    TenantTransactions,
    Transactions,
)
from telegram_assistant.stores.postgres.digests.digests import DigestPlans, PersonDigests
from telegram_assistant.stores.postgres.digests.interests import InterestUpkeep, PersonInterests
from telegram_assistant.stores.postgres.feed.choices import PersonChoices
from telegram_assistant.stores.postgres.feed.news import News
from telegram_assistant.stores.postgres.feed.person_feed import Reading
from telegram_assistant.stores.postgres.feed.read_ledger import ReadLedger
from telegram_assistant.stores.postgres.feed.tenant_feed import Feed
from telegram_assistant.stores.postgres.lists import Lists
from telegram_assistant.stores.postgres.media.files import MediaQueue
from telegram_assistant.stores.postgres.media.post_files import PostMedia
from telegram_assistant.stores.postgres.media.upkeep import MediaUpkeep
from telegram_assistant.stores.postgres.media.vision_results import MediaResults
from telegram_assistant.stores.postgres.operations.due_work import DueWorkQueue
from telegram_assistant.stores.postgres.operations.enqueuing import WorkEnqueuer
from telegram_assistant.stores.postgres.operations.job_runs import JobRuns
from telegram_assistant.stores.postgres.operations.partitions import Partitions
from telegram_assistant.stores.postgres.operations.processes import Processes
from telegram_assistant.stores.postgres.people.members import Members
from telegram_assistant.stores.postgres.people.people import People
from telegram_assistant.stores.postgres.pipeline.backlog import Backlog, OperatorBacklog
from telegram_assistant.stores.postgres.pipeline.dead_letters import DeadLetters, DeadLetterWriter
from telegram_assistant.stores.postgres.pipeline.notices import Notices
from telegram_assistant.stores.postgres.pipeline.outbox import Outbox
from telegram_assistant.stores.postgres.pipeline.rebuilds import Rebuilds
from telegram_assistant.stores.postgres.pipeline.stage_minutes import StageMinutes, Throughput
from telegram_assistant.stores.postgres.pipeline.wakeup import Wakeup
from telegram_assistant.stores.postgres.posts.album_summaries import AlbumSummaries
from telegram_assistant.stores.postgres.posts.albums import Albums
from telegram_assistant.stores.postgres.posts.changes import QuietChanges
from telegram_assistant.stores.postgres.posts.counts import Counts
from telegram_assistant.stores.postgres.posts.forwards import Forwards
from telegram_assistant.stores.postgres.posts.habits import ChannelHabits
from telegram_assistant.stores.postgres.posts.landing import Landing
from telegram_assistant.stores.postgres.posts.post_details import PostDetails
from telegram_assistant.stores.postgres.posts.post_states import PostStates
from telegram_assistant.stores.postgres.posts.posts import Posts
from telegram_assistant.stores.postgres.posts.raw_messages import RawArchive
from telegram_assistant.stores.postgres.posts.replays import Replays
from telegram_assistant.stores.postgres.posts.versions import Versions
from telegram_assistant.stores.postgres.receivers.deliveries import Deliveries
from telegram_assistant.stores.postgres.receivers.feed_addresses import FeedAddresses, FeedDirectory
from telegram_assistant.stores.postgres.receivers.feed_posts import FeedPosts
from telegram_assistant.stores.postgres.receivers.receivers import Receivers
from telegram_assistant.stores.postgres.search.changed_posts import ChangedPosts
from telegram_assistant.stores.postgres.search.saved_searches import SavedSearches
from telegram_assistant.stores.postgres.search.search import WordSearch
from telegram_assistant.stores.postgres.search.word_index import WordIndex
from telegram_assistant.stores.postgres.sharing.public_links import PublicLinkDirectory, PublicLinks
from telegram_assistant.stores.postgres.stories.channel_networks import ChannelNetworks
from telegram_assistant.stores.postgres.stories.keyword_trends import KeywordTrends, TrendDays
from telegram_assistant.stores.postgres.stories.marks import PersonStoryMarks, StoryFollowers
from telegram_assistant.stores.postgres.stories.own_stories import OwnStories
from telegram_assistant.stores.postgres.stories.post_terms import PostTerms
from telegram_assistant.stores.postgres.stories.sources import StorySources
from telegram_assistant.stores.postgres.stories.stories import Stories
from telegram_assistant.stores.postgres.stories.story_groups import StoryGroups
from telegram_assistant.stores.postgres.stories.written_summaries import SummaryUpkeep, WrittenSummaries
from telegram_assistant.stores.postgres.tenants.audit import AuditLog
from telegram_assistant.stores.postgres.tenants.idempotency import Idempotency, IdempotencyUpkeep
from telegram_assistant.stores.postgres.tenants.keys import KeyDirectory, Keys
from telegram_assistant.stores.postgres.tenants.tenant_operations import TenantOperations
from telegram_assistant.stores.postgres.tenants.tenants import Tenants
from telegram_assistant.stores.postgres.tenants.users import Users
from telegram_assistant.stores.postgres.understanding.ai_choices import AiChoices
from telegram_assistant.stores.postgres.understanding.ai_policies import AiPolicies
from telegram_assistant.stores.postgres.understanding.ai_results import AiResults
from telegram_assistant.stores.postgres.understanding.enrichments import Enrichments, PostEnrichments
from telegram_assistant.stores.postgres.understanding.near_texts import NearTexts
from telegram_assistant.stores.postgres.understanding.own_history import OwnHistory
from telegram_assistant.stores.postgres.understanding.own_spending import OwnSpending
from telegram_assistant.stores.postgres.understanding.pages import LinkedPages
from telegram_assistant.stores.postgres.understanding.provider_wanted import ProviderWanted
from telegram_assistant.stores.postgres.understanding.spending import QuestionLedger, Spending
from telegram_assistant.stores.postgres.understanding.tag_use import TagUse
from telegram_assistant.stores.postgres.understanding.tenant_tags import TenantTags
from telegram_assistant.stores.postgres.understanding.vocabularies import Vocabularies
from telegram_assistant.stores.postgres.watches.alerts import Alerts
from telegram_assistant.stores.postgres.watches.matching import WatchMatching
from telegram_assistant.stores.postgres.watches.previews import WatchPreviews
from telegram_assistant.stores.postgres.watches.watches import Watches

REPEATABLE = "repeatable"
"""Marks a store whose work is simply done again if a crash loses it."""
WAKES = "wakes"
"""Marks a store that wakes the relay."""


@dataclass(frozen=True, slots=True)
class ApiStores:
    """For requests outside any tenant: lookup of keys and people, payment of questions,
    the operator's operations. Functions only, no tables.
    """

    key_directory: KeyDirectory
    people: People
    tenant_operations: TenantOperations
    questions: QuestionLedger
    dead_letters: DeadLetters
    processes: Processes
    throughput: Throughput
    backlog: OperatorBacklog
    feed_directory: FeedDirectory
    public_link_directory: PublicLinkDirectory


@dataclass(frozen=True, slots=True)
class IngestStores:
    """For ingest only: sessions, the logins that create them, and the secrets that connect to Telegram."""

    accounts: AccountSessions
    logins: Logins
    telegram_secrets: TelegramSecrets


@dataclass(frozen=True, slots=True)
class SystemStores:
    """For ingest, workers and jobs; they see every tenant."""

    tenants: Tenants
    users: Users
    idempotency: IdempotencyUpkeep
    accounts: Accounts
    limits: AccountLimits
    push_states: PushStates
    joins: Joins
    channels: Channels
    landing: Annotated[Landing, WAKES]
    counts: Annotated[Counts, REPEATABLE]
    posts: Annotated[Posts, REPEATABLE]
    versions: Annotated[Versions, REPEATABLE]
    post_states: PostStates
    rebuilds: Rebuilds
    word_index: Annotated[WordIndex, REPEATABLE]
    pages: Annotated[LinkedPages, REPEATABLE]
    enrichments: Annotated[Enrichments, REPEATABLE]
    outbox: Annotated[Outbox, REPEATABLE, WAKES]
    notices: Annotated[Notices, REPEATABLE]
    albums: Albums
    album_summaries: AlbumSummaries
    media: MediaQueue
    media_results: MediaResults
    media_upkeep: MediaUpkeep
    dead_letters: DeadLetterWriter
    stage_minutes: Annotated[StageMinutes, REPEATABLE]
    backlog: Backlog
    coverage: CoverageLedger
    schedule: Schedule
    known_channels: KnownChannels
    hints: Hints
    planning: Planning
    backfills: Backfills
    statistics: PostStatistics
    request_queue: RequestQueue
    joined_listings: JoinedListings
    previews: Previews
    folders: FollowedFolders
    raw_archive: Annotated[RawArchive, REPEATABLE]
    job_runs: JobRuns
    due_work: DueWorkQueue
    enqueuer: WorkEnqueuer
    digest_plans: DigestPlans
    interest_upkeep: InterestUpkeep
    partitions: Partitions
    ai_policies: AiPolicies
    ai_results: AiResults
    near_texts: Annotated[NearTexts, REPEATABLE]
    vocabularies: Annotated[Vocabularies, REPEATABLE]
    provider_wanted: ProviderWanted
    replays: Replays
    spending: Spending
    stories: Annotated[Stories, REPEATABLE]
    story_sources: Annotated[StorySources, REPEATABLE]
    post_terms: Annotated[PostTerms, REPEATABLE]
    story_groups: Annotated[StoryGroups, REPEATABLE]
    story_followers: StoryFollowers
    trend_days: TrendDays
    summary_upkeep: SummaryUpkeep
    watch_matching: WatchMatching
    deliveries: Deliveries


@dataclass(frozen=True, slots=True)
class TenantStores:
    """For work on behalf of one tenant; they see what that tenant subscribes to."""

    feed: Feed
    news: News
    post_details: PostDetails
    followed: Followed
    requests: ChannelRequests
    request_fates: RequestFates
    joined: JoinedChannels
    parked: ParkedChannels
    coverage_overview: CoverageOverview
    activity: ChannelActivities
    networks: ChannelNetworks
    records: ChannelRecords
    habits: ChannelHabits
    words: WordSearch
    changed_posts: ChangedPosts
    enrichments: PostEnrichments
    tags: TenantTags
    tag_use: TagUse
    changes: QuietChanges
    media: PostMedia
    accounts: OwnAccounts
    logins: OwnLogins
    telegram_setup: OwnTelegramSetup
    ai: AiChoices
    spending: OwnSpending
    history: OwnHistory
    keys: Keys
    members: Members
    saved_searches: SavedSearches
    lists: Lists
    audit: AuditLog
    idempotency: Idempotency
    forwards: Forwards
    stories: OwnStories
    keyword_trends: KeywordTrends
    written_summaries: WrittenSummaries
    watches: Watches
    watch_previews: WatchPreviews
    alerts: Alerts
    receivers: Receivers
    feed_addresses: FeedAddresses
    feed_posts: FeedPosts


@dataclass(frozen=True, slots=True)
class PersonStores:
    """For one person in one tenant; they see what that person did."""

    reading: Reading
    ledger: ReadLedger
    choices: PersonChoices
    digests: PersonDigests
    interests: PersonInterests
    story_marks: PersonStoryMarks
    public_links: PublicLinks


def api_stores(pool: Pool) -> ApiStores:
    return build_stores(ApiStores, ApiTransactions(pool))


def ingest_stores(pool: Pool) -> IngestStores:
    return build_stores(IngestStores, IngestTransactions(pool))


def system_stores(pool: Pool, wakeup: Wakeup) -> SystemStores:
    transactions = SystemTransactions(pool)
    repeatable = SystemTransactions(pool, is_repeatable=True)
    return build_stores(
        SystemStores,
        transactions,
        {
            (REPEATABLE,): (repeatable,),
            (WAKES,): (transactions, wakeup),
            (REPEATABLE, WAKES): (repeatable, wakeup),
        },
    )


def tenant_stores(pool: Pool, tenant_id: TenantId, actor_id: UserId | None = None) -> TenantStores:
    """`actor` is the person whose request it is: what they make can be withdrawn when they leave."""
    return build_stores(TenantStores, TenantTransactions(pool, tenant_id, actor_id=actor_id))


def person_stores(pool: Pool, tenant_id: TenantId, user_id: UserId) -> PersonStores:
    return build_stores(PersonStores, PersonTransactions(pool, tenant_id, user_id))


def build_stores[Stores](
    stores: Callable[..., Stores],
    transactions: Transactions,
    marked: Mapping[tuple[str, ...], tuple[object, ...]] | None = None,
) -> Stores:
    """Builds each store with these transactions; `marked` has the arguments of the marked ones.

    Raises TypeError if a store takes transactions of another role.
    """
    transactions_type: type = type(transactions)
    arguments = {(): (transactions,), **(marked or {})}
    return stores(*[store(*arguments[marks]) for store, marks in _fields_of(stores, transactions_type)])


@cache
def _fields_of(
    stores: Callable[..., object], transactions: type
) -> tuple[tuple[Callable[..., Any], tuple[str, ...]], ...]:
    """The class and the marks of each store."""
    fields = []
    for name, hint in get_type_hints(stores, include_extras=True).items():
        store, *marks = get_args(hint) or (hint,)
        if not issubclass(transactions, get_type_hints(store.__init__)["transactions"]):
            raise TypeError(f"{name}: {store.__name__} does not take {transactions.__name__}")
        fields.append((store, tuple(marks)))
    return tuple(fields)
