"""Bodies of requests to the control port."""

from pydantic import BaseModel, ConfigDict

from telegram_simulator.world.post import FileKind


class Body(BaseModel):
    """The base of all request bodies. Unknown fields are a mistake."""

    model_config = ConfigDict(extra="forbid")


class AccountBody(Body):
    phone: str
    premium: bool | None = None
    state: str | None = None
    joined: list[int] | None = None
    password: str | None = None
    home_dc: int | None = None


class LoginBody(Body):
    phone: str
    token: str | None = None


class FolderBody(Body):
    title: str
    channels: list[int] = []
    all_channels: bool = False
    without: list[int] = []
    number: int | None = None


class SharedFolder(Body):
    slug: str
    title: str = ""
    channels: list[int] = []


class ChannelBody(Body):
    title: str
    username: str | None = None
    invite: str | None = None
    group: bool = False


class ChannelChange(Body):
    title: str | None = None
    username: str | None = None
    private: bool | None = None
    protected: bool | None = None
    preview: bool | None = None
    ban: str | None = None
    unban: str | None = None


class EntityBody(Body):
    kind: str
    offset: int
    length: int
    url: str = ""


class PostBody(Body):
    text: str = ""
    entities: list[EntityBody] = []
    media: FileKind | None = None
    size: int = 60_000
    dc_id: int = 2
    name: str | None = None
    same_file: tuple[int, int] | None = None
    reply_to: int | None = None
    origin: tuple[int, int] | None = None
    author: str | None = None
    count: int = 1
    deliver: bool = True


class AlbumBody(Body):
    kinds: list[FileKind]
    caption: str = ""
    deliver: bool = True


class PostChange(Body):
    text: str | None = None
    views: int | None = None
    reactions: list[tuple[str, int]] | None = None
    deliver: bool = True


class Deletion(Body):
    ids: list[int]
    deliver: bool = True


class Trim(Body):
    keep: int


class Drop(Body):
    phone: str | None = None
    abruptly: bool = True


class TroubleBody(Body):
    latency_seconds: float | None = None
    refuse_connections: bool | None = None
    too_many_connections: bool | None = None
    drop_updates: bool | None = None
    clock_skew_seconds: float | None = None
    web_latency_seconds: float | None = None
    web_status: int | None = None
    web_retry_after_seconds: int | None = None
    web_unknown_markup: bool | None = None
    slow_page_seconds: float | None = None
    huge_page_bytes: int | None = None
    login_token_seconds: float | None = None


class FailureBody(Body):
    method: str
    code: int
    message: str
    times: int = 1
    phone: str | None = None
    after: int = 0


class LimitBody(Body):
    method: str
    rules: list[tuple[int, float, int]]


class Churn(Body):
    edits: int = 0
    deletions: int = 0
    seed: int = 1


class Phone(Body):
    phone: str
