"""What commands print for programs where the API has no such answer: in its manner, lists as `items`."""

from datetime import date, datetime

from telegram_assistant.api.schemas import Shown
from telegram_assistant.api.spending import UsageLineShown
from telegram_assistant.domain.diagnosis import Verdict


class ProviderResponse(Shown):
    """How busy a provider is. `paused_seconds`: it is left alone for so long."""

    provider: str
    speaking: int
    waiting: int
    paused_seconds: float
    paused_reason: str


class ProvidersResponse(Shown):
    """Configured providers, and how many results wait to be improved by one."""

    items: list[ProviderResponse]
    results_waiting: int


class TenantUsageLineResponse(UsageLineShown):
    """Calls of one day, model and outcome, and whose they were."""

    tenant_name: str


class TenantUsageResponse(Shown):
    """The newest day first. Amounts are in millionths of `unit`."""

    items: list[TenantUsageLineResponse]
    unit: str


class FolderResponse(Shown):
    """A folder at Telegram that is followed."""

    number: int
    title: str
    account: int
    chats: int
    followed: int
    looked_at: datetime | None
    trouble: str | None


class FoldersResponse(Shown):
    """All folders of a tenant."""

    items: list[FolderResponse]


class FirstSeenResponse(Shown):
    """Where a post, or a link to a page, was seen first; null: nowhere since then."""

    since: date
    post_id: str | None
    channel: str | None
    link: str | None
    posted_at: datetime | None
    is_original: bool
    answered_by: str
    notice: str


class MediaFilesResponse(Shown):
    """Files in one state, for one reason."""

    state: str
    reason: str | None
    files: int
    bytes: int


class MediaUsageResponse(Shown):
    """What a tenant keeps. Without a limit of its own it is null."""

    tenant_name: str
    media_bytes: int
    limit_bytes: int | None


class MediaTroubleResponse(Shown):
    """A file that could not be fetched so far, or was given up."""

    post_id: str
    state: str
    attempts: int
    why: str


class MediaStatusResponse(Shown):
    """All files at a glance."""

    store: str
    objects: int
    object_bytes: int
    items: list[MediaFilesResponse]
    usage: list[MediaUsageResponse]
    troubles: list[MediaTroubleResponse]


class ModelResponse(Shown):
    """A sentence model on this machine."""

    name: str
    size_bytes: int
    in_use: bool


class ModelsResponse(Shown):
    """All of them."""

    items: list[ModelResponse]


class ParkedChannelResponse(Shown):
    """A channel that rests after too many failures."""

    channel_id: int
    title: str
    reason: str
    until: datetime
    failures: int


class SchedulerResponse(Shown):
    """As `scheduler` in /health/details of the ingest role, with the policy and what is parked."""

    last_tick_ts: str | None
    interval_sec: int
    lock_owner: str | None
    status: str
    last_success_ts: str | None
    channels_active: int
    channels_failing: int
    policy: str
    parked: list[ParkedChannelResponse]


class StageResponse(Shown):
    """One stage in one lane. `stopped`: why it does not go on."""

    stage: str
    lane: str
    lag: int
    pending: int
    resting: int
    oldest_seconds: float
    consumers: int
    stopped: str | None


class StagesResponse(Shown):
    """All stages, and how many post revisions are on their way."""

    items: list[StageResponse]
    on_their_way: int


class FindingResponse(Shown):
    """One line of the doctor. `remedy` says what to do."""

    subject: str
    verdict: Verdict
    what: str
    remedy: str


class FindingsResponse(Shown):
    """All lines; `ok`: nothing has to be mended."""

    items: list[FindingResponse]
    ok: bool


class SettingResponse(Shown):
    """A variable with the value in force, secrets hidden."""

    name: str
    group: str
    value: str


class SettingsResponse(Shown):
    """Every variable."""

    items: list[SettingResponse]
