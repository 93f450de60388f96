"""Builds the stores and decides the database role of each, here and nowhere else.

It is long because it lists every store.
"""

from dataclasses import dataclass

from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.stores.postgres.accounts.accounts import Accounts, AccountSessions
from telegram_assistant.stores.postgres.accounts.limits import AccountLimits
from telegram_assistant.stores.postgres.accounts.logins import Logins
from telegram_assistant.stores.postgres.accounts.own_accounts import OwnAccounts
from telegram_assistant.stores.postgres.accounts.own_logins import OwnLogins
from telegram_assistant.stores.postgres.accounts.telegram_setup import OwnTelegramSetup, TelegramSecrets
from telegram_assistant.stores.postgres.channels.activity import ChannelActivities
from telegram_assistant.stores.postgres.channels.backfills import Backfills
from telegram_assistant.stores.postgres.channels.channel_requests import ChannelRequests
from telegram_assistant.stores.postgres.channels.channels import Channels, Followed
from telegram_assistant.stores.postgres.channels.coverage import CoverageLedger, CoverageOverview, OwnCoverage
from telegram_assistant.stores.postgres.channels.folders import FollowedFolders
from telegram_assistant.stores.postgres.channels.hints import Hints
from telegram_assistant.stores.postgres.channels.joined_channels import JoinedChannels, JoinedListings
from telegram_assistant.stores.postgres.channels.joins import Joins
from telegram_assistant.stores.postgres.channels.known_channels import KnownChannels
from telegram_assistant.stores.postgres.channels.parked_channels import ParkedChannels
from telegram_assistant.stores.postgres.channels.planning import Planning
from telegram_assistant.stores.postgres.channels.previews import Previews
from telegram_assistant.stores.postgres.channels.push_states import PushStates
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
)
from telegram_assistant.stores.postgres.digests.digests import DigestPlans, PersonDigests
from telegram_assistant.stores.postgres.digests.interests import InterestUpkeep, PersonInterests
from telegram_assistant.stores.postgres.feed.choices import PersonChoices
from telegram_assistant.stores.postgres.feed.person_feed import Reading
from telegram_assistant.stores.postgres.feed.read_ledger import ReadLedger
from telegram_assistant.stores.postgres.feed.tenant_feed import Feed
from telegram_assistant.stores.postgres.media.files import MediaQueue
from telegram_assistant.stores.postgres.media.post_files import PostMedia
from telegram_assistant.stores.postgres.media.upkeep import MediaUpkeep
from telegram_assistant.stores.postgres.media.vision_results import MediaResults
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
from telegram_assistant.stores.postgres.search.saved_searches import SavedSearches
from telegram_assistant.stores.postgres.search.search import WordSearch
from telegram_assistant.stores.postgres.search.word_index import WordIndex
from telegram_assistant.stores.postgres.stories.grouping import StoryGroups
from telegram_assistant.stores.postgres.stories.keyword_trends import KeywordTrends, TrendDays
from telegram_assistant.stores.postgres.stories.own_stories import OwnStories
from telegram_assistant.stores.postgres.stories.post_terms import PostTerms
from telegram_assistant.stores.postgres.stories.sources import StorySources
from telegram_assistant.stores.postgres.stories.stories import Stories
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
    landing: Landing
    counts: Counts
    posts: Posts
    versions: Versions
    post_states: PostStates
    rebuilds: Rebuilds
    word_index: WordIndex
    pages: LinkedPages
    enrichments: Enrichments
    outbox: Outbox
    notices: Notices
    albums: Albums
    album_summaries: AlbumSummaries
    media: MediaQueue
    media_results: MediaResults
    media_upkeep: MediaUpkeep
    dead_letters: DeadLetterWriter
    stage_minutes: StageMinutes
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
    raw_archive: RawArchive
    job_runs: JobRuns
    digest_plans: DigestPlans
    interest_upkeep: InterestUpkeep
    partitions: Partitions
    ai_policies: AiPolicies
    ai_results: AiResults
    near_texts: NearTexts
    vocabularies: Vocabularies
    provider_wanted: ProviderWanted
    replays: Replays
    spending: Spending
    stories: Stories
    story_sources: StorySources
    post_terms: PostTerms
    story_groups: StoryGroups
    trend_days: TrendDays
    summary_upkeep: SummaryUpkeep
    watch_matching: WatchMatching
    deliveries: Deliveries


@dataclass(frozen=True, slots=True)
class TenantStores:
    """For work on behalf of one tenant; they see what that tenant subscribes to."""

    feed: Feed
    post_details: PostDetails
    followed: Followed
    requests: ChannelRequests
    request_fates: RequestFates
    joined: JoinedChannels
    parked: ParkedChannels
    coverage: OwnCoverage
    coverage_overview: CoverageOverview
    activity: ChannelActivities
    words: WordSearch
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


def api_stores(pool: Pool) -> ApiStores:
    transactions = ApiTransactions(pool)
    return ApiStores(
        key_directory=KeyDirectory(transactions),
        people=People(transactions),
        tenant_operations=TenantOperations(transactions),
        questions=QuestionLedger(transactions),
        dead_letters=DeadLetters(transactions),
        processes=Processes(transactions),
        throughput=Throughput(transactions),
        backlog=OperatorBacklog(transactions),
        feed_directory=FeedDirectory(transactions),
    )


def ingest_stores(pool: Pool) -> IngestStores:
    transactions = IngestTransactions(pool)
    return IngestStores(
        accounts=AccountSessions(transactions),
        logins=Logins(transactions),
        telegram_secrets=TelegramSecrets(transactions),
    )


def system_stores(pool: Pool, wakeup: Wakeup) -> SystemStores:
    transactions = SystemTransactions(pool)
    repeatable = SystemTransactions(pool, repeatable=True)
    return SystemStores(
        tenants=Tenants(transactions),
        users=Users(transactions),
        idempotency=IdempotencyUpkeep(transactions),
        accounts=Accounts(transactions),
        limits=AccountLimits(transactions),
        push_states=PushStates(transactions),
        joins=Joins(transactions),
        channels=Channels(transactions),
        landing=Landing(transactions, wakeup),
        counts=Counts(repeatable),
        posts=Posts(repeatable),
        versions=Versions(repeatable),
        post_states=PostStates(transactions),
        rebuilds=Rebuilds(transactions),
        word_index=WordIndex(repeatable),
        pages=LinkedPages(repeatable),
        enrichments=Enrichments(repeatable),
        outbox=Outbox(repeatable, wakeup),
        notices=Notices(repeatable),
        albums=Albums(transactions),
        album_summaries=AlbumSummaries(transactions),
        media=MediaQueue(transactions),
        media_results=MediaResults(transactions),
        media_upkeep=MediaUpkeep(transactions),
        dead_letters=DeadLetterWriter(transactions),
        stage_minutes=StageMinutes(repeatable),
        backlog=Backlog(transactions),
        coverage=CoverageLedger(transactions),
        schedule=Schedule(transactions),
        known_channels=KnownChannels(transactions),
        hints=Hints(transactions),
        planning=Planning(transactions),
        backfills=Backfills(transactions),
        statistics=PostStatistics(transactions),
        request_queue=RequestQueue(transactions),
        joined_listings=JoinedListings(transactions),
        previews=Previews(transactions),
        folders=FollowedFolders(transactions),
        raw_archive=RawArchive(repeatable),
        job_runs=JobRuns(transactions),
        digest_plans=DigestPlans(transactions),
        interest_upkeep=InterestUpkeep(transactions),
        partitions=Partitions(transactions),
        ai_policies=AiPolicies(transactions),
        ai_results=AiResults(transactions),
        near_texts=NearTexts(repeatable),
        vocabularies=Vocabularies(repeatable),
        provider_wanted=ProviderWanted(transactions),
        replays=Replays(transactions),
        spending=Spending(transactions),
        stories=Stories(repeatable),
        story_sources=StorySources(repeatable),
        post_terms=PostTerms(repeatable),
        story_groups=StoryGroups(repeatable),
        trend_days=TrendDays(transactions),
        summary_upkeep=SummaryUpkeep(transactions),
        watch_matching=WatchMatching(transactions),
        deliveries=Deliveries(transactions),
    )


def tenant_stores(pool: Pool, tenant_id: TenantId, actor: UserId | None = None) -> TenantStores:
    """`actor` is the person whose request it is: what they make can be withdrawn when they leave."""
    transactions = TenantTransactions(pool, tenant_id, actor=actor)
    return TenantStores(
        feed=Feed(transactions),
        post_details=PostDetails(transactions),
        followed=Followed(transactions),
        requests=ChannelRequests(transactions),
        request_fates=RequestFates(transactions),
        joined=JoinedChannels(transactions),
        parked=ParkedChannels(transactions),
        coverage=OwnCoverage(transactions),
        coverage_overview=CoverageOverview(transactions),
        activity=ChannelActivities(transactions),
        words=WordSearch(transactions),
        enrichments=PostEnrichments(transactions),
        tags=TenantTags(transactions),
        tag_use=TagUse(transactions),
        changes=QuietChanges(transactions),
        media=PostMedia(transactions),
        accounts=OwnAccounts(transactions),
        logins=OwnLogins(transactions),
        telegram_setup=OwnTelegramSetup(transactions),
        ai=AiChoices(transactions),
        spending=OwnSpending(transactions),
        history=OwnHistory(transactions),
        keys=Keys(transactions),
        members=Members(transactions),
        saved_searches=SavedSearches(transactions),
        audit=AuditLog(transactions),
        idempotency=Idempotency(transactions),
        forwards=Forwards(transactions),
        stories=OwnStories(transactions),
        keyword_trends=KeywordTrends(transactions),
        written_summaries=WrittenSummaries(transactions),
        watches=Watches(transactions),
        watch_previews=WatchPreviews(transactions),
        alerts=Alerts(transactions),
        receivers=Receivers(transactions),
        feed_addresses=FeedAddresses(transactions),
        feed_posts=FeedPosts(transactions),
    )


def person_stores(pool: Pool, tenant_id: TenantId, user_id: UserId) -> PersonStores:
    transactions = PersonTransactions(pool, tenant_id, user_id)
    return PersonStores(
        reading=Reading(transactions),
        ledger=ReadLedger(transactions),
        choices=PersonChoices(transactions),
        digests=PersonDigests(transactions),
        interests=PersonInterests(transactions),
    )
