"""What commands print for programs where the API has no such answer: in its manner, lists as `items`."""

from datetime import date, datetime

from telegram_assistant.api.endpoints.spending import UsageLineResponse
from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.domain.diagnosis import Severity


class ProviderResponse(ResponseModel):
    """How busy a provider is. `paused_seconds`: it is left alone for so long."""

    provider: str
    speaking: int
    waiting: int
    paused_seconds: float
    paused_reason: str


class ProvidersResponse(ResponseModel):
    """Configured providers, and how many results wait to be improved by one."""

    items: list[ProviderResponse]
    results_waiting: int


class TenantUsageLineResponse(UsageLineResponse):
    """Calls of one day, model and outcome, and whose they were."""

    tenant_name: str


class TenantUsageResponse(ResponseModel):
    """The newest day first. Amounts are in millionths of `unit`."""

    items: list[TenantUsageLineResponse]
    unit: str


class FolderResponse(ResponseModel):
    """A folder at Telegram that is followed."""

    number: int
    title: str
    account: int
    chats: int
    followed: int
    looked_at: datetime | None
    trouble: str | None


class FoldersResponse(ResponseModel):
    """All folders of a tenant."""

    items: list[FolderResponse]


class FirstSeenResponse(ResponseModel):
    """Where a post, or a link to a page, was seen first; null: nowhere since then."""

    since: date
    post_id: str | None
    channel: str | None
    link: str | None
    posted_at: datetime | None
    is_original: bool
    answered_by: str
    notice: str


class MediaFilesResponse(ResponseModel):
    """Files in one state, for one reason."""

    state: str
    reason: str | None
    files: int
    bytes: int


class MediaUsageResponse(ResponseModel):
    """What a tenant keeps. Without a limit of its own it is null."""

    tenant_name: str
    media_bytes: int
    limit_bytes: int | None


class MediaTroubleResponse(ResponseModel):
    """A file that could not be fetched so far, or was given up."""

    post_id: str
    state: str
    attempts: int
    why: str


class MediaStatusResponse(ResponseModel):
    """All files at a glance."""

    store: str
    objects: int
    object_bytes: int
    items: list[MediaFilesResponse]
    usage: list[MediaUsageResponse]
    troubles: list[MediaTroubleResponse]


class ModelResponse(ResponseModel):
    """A sentence model on this machine."""

    name: str
    size_bytes: int
    in_use: bool


class ModelsResponse(ResponseModel):
    """All of them."""

    items: list[ModelResponse]


class ParkedChannelResponse(ResponseModel):
    """A channel that rests after too many failures."""

    channel_id: int
    title: str
    reason: str
    until: datetime
    failures: int


class SchedulerResponse(ResponseModel):
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


class StageResponse(ResponseModel):
    """One stage in one lane. `stopped`: why it does not go on."""

    stage: str
    lane: str
    lag: int
    pending: int
    resting: int
    oldest_seconds: float
    consumers: int
    stopped: str | None


class StagesResponse(ResponseModel):
    """All stages, and how many post revisions are on their way."""

    items: list[StageResponse]
    on_their_way: int


class FindingResponse(ResponseModel):
    """One line of the doctor. `remedy` says what to do."""

    subject: str
    verdict: Severity
    what: str
    remedy: str


class FindingsResponse(ResponseModel):
    """All lines; `ok`: nothing has to be mended."""

    items: list[FindingResponse]
    ok: bool


class SettingResponse(ResponseModel):
    """A variable with the value in force, secrets hidden."""

    name: str
    group: str
    value: str


class SettingsResponse(ResponseModel):
    """Every variable."""

    items: list[SettingResponse]
