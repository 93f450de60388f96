"""JSON that commands print where the API has no such endpoint. It follows the API: lists are `items`."""

from datetime import date, datetime

from telegram_assistant.api.endpoints.understanding.spending import UsageLineResponse
from telegram_assistant.api.endpoints.understanding.tags import TagResponse
from telegram_assistant.api.schemas import ResponseModel
from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.stores.postgres.understanding.vocabularies import TagState


class ProviderResponse(ResponseModel):
    """The load of a provider: `speaking` calls run, `waiting` calls are queued.

    `paused_seconds`: how long no call is sent.
    """

    provider: str
    speaking: int
    waiting: int
    paused_seconds: float
    paused_reason: str


class ProvidersResponse(ResponseModel):
    """Configured providers. `results_waiting`: local results that a provider shall improve."""

    items: list[ProviderResponse]
    results_waiting: int


class TenantUsageLineResponse(UsageLineResponse):
    """Calls of one tenant, day, model, purpose and status."""

    tenant_name: str


class TenantUsageResponse(ResponseModel):
    """Usage by day, newest first. Amounts are in millionths of `unit`."""

    items: list[TenantUsageLineResponse]
    unit: str


class InstallationTagResponse(TagResponse):
    """A tag in any state. `channels`: how many channels proposed it."""

    state: TagState
    channels: int


class InstallationTagsResponse(ResponseModel):
    """All tags of the installation, those included that channels have proposed or that were retired."""

    items: list[InstallationTagResponse]


class FolderResponse(ResponseModel):
    """A followed Telegram folder."""

    number: int
    title: str
    account: int
    chats: int
    followed: int
    looked_at: datetime | None
    trouble: str | None


class FoldersResponse(ResponseModel):
    """All followed folders of a tenant."""

    items: list[FolderResponse]


class FirstSeenResponse(ResponseModel):
    """The first post with this content or link since `since`; null: there is none."""

    since: date
    post_id: str | None
    channel: str | None
    link: str | None
    posted_at: datetime | None
    is_original: bool
    answered_by: str
    notice: str


class MediaFilesResponse(ResponseModel):
    """Number and size of files in one state with one reason."""

    state: str
    reason: str | None
    files: int
    bytes: int


class MediaUsageResponse(ResponseModel):
    """Media of one tenant. `limit_bytes` is null if the tenant has no quota of its own."""

    tenant_name: str
    media_bytes: int
    limit_bytes: int | None


class MediaTroubleResponse(ResponseModel):
    """A file that could not be downloaded so far, or was given up."""

    post_id: str
    state: str
    attempts: int
    why: str


class MediaStatusResponse(ResponseModel):
    """Numbers, sizes and errors of all media files.

    `downloads_paused` says why files wait for room on a disk of this machine.
    """

    store: str
    downloads_paused: str | None
    objects: int
    object_bytes: int
    items: list[MediaFilesResponse]
    usage: list[MediaUsageResponse]
    troubles: list[MediaTroubleResponse]


class ModelResponse(ResponseModel):
    """A local embedding model."""

    name: str
    size_bytes: int
    in_use: bool


class ModelsResponse(ResponseModel):
    """All local embedding models."""

    items: list[ModelResponse]


class ModelTrialResponse(ResponseModel):
    """Figures of the configured embedding model on pairs of texts."""

    model: str
    pairs: int
    same: int
    f1: float
    precision: float
    recall: float
    threshold: float
    dimensions: int
    milliseconds: float


class ParkedChannelResponse(ResponseModel):
    """A channel that is not read for a while after repeated failures."""

    channel_id: int
    title: str
    reason: str
    until: datetime
    failures: int


class SchedulerResponse(ResponseModel):
    """`scheduler` of /health/details of the ingest role, plus the policy and the parked channels."""

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
    """One stage in one lane. `stopped`: why it has stopped."""

    stage: str
    lane: str
    lag: int
    pending: int
    resting: int
    oldest_seconds: float
    consumers: int
    stopped: str | None


class UnknownGroupResponse(ResponseModel):
    """A consumer group that belongs to no stage of this program."""

    stream: str
    group: str


class StagesResponse(ResponseModel):
    """All stages, the number of post revisions that have not passed the pipeline,
    and consumer groups of other programs.
    """

    items: list[StageResponse]
    on_their_way: int
    unknown_groups: list[UnknownGroupResponse]


class FindingResponse(ResponseModel):
    """One finding of `tga doctor`.

    `code` is for programs, `what` and `remedy` are in the language of the terminal; `remedy` says what to do.
    """

    subject: str
    verdict: Severity
    code: str
    what: str
    remedy: str


class FindingsResponse(ResponseModel):
    """All findings. `ok`: nothing needs fixing."""

    items: list[FindingResponse]
    ok: bool


class SettingResponse(ResponseModel):
    """A variable with its value in force; secrets are hidden."""

    name: str
    group: str
    value: str


class SettingsResponse(ResponseModel):
    """Every variable."""

    items: list[SettingResponse]


class JobResponse(ResponseModel):
    """A periodic job and its last run; `started_at` null: it has never run. `finished_at` null: it runs."""

    job: str
    every_seconds: int
    started_at: datetime | None
    finished_at: datetime | None
    instance: str | None
    error: str | None
    next_at: datetime


class JobsResponse(ResponseModel):
    """All periodic jobs."""

    items: list[JobResponse]
