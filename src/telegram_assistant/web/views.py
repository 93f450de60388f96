"""The argument of the function behind a page: the request, the person and, on pages of a tenant,
the stores to read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit
from uuid import UUID
from zoneinfo import ZoneInfo

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from telegram_assistant.assembly import ApiApp
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.people.person import Language, Membership, Person
from telegram_assistant.domain.posts.post import Facts, Json
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.errors import Missing, Rejected
from telegram_assistant.fair_queue import Place
from telegram_assistant.features.people.passwords import Passwords
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores
from telegram_assistant.stores.redis.limiter import Limiter
from telegram_assistant.web.client import Client

NOTICES = frozenset(["done", "marked", "unmarked", "muted"])
"""Parts of an address that tell what was just done."""
PAGE_UNKNOWN = Reason("page_unknown", "there is nothing at this address, or you may not see it")
CHARACTERS_UNSTORABLE = Reason(
    "characters_unstorable",
    "this form or address has characters that cannot be stored; remove them and try again",
)
FORM_DAMAGED = Reason("form_damaged", "this form is damaged; open the page again")


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One request. Pages that everybody may open get this one."""

    request: Request
    app: ApiApp
    client: Client
    passwords: Passwords
    limiter: Limiter
    """The one of this process: while Redis is away, it alone remembers what was tried."""
    language: Language
    zone: ZoneInfo
    now: datetime
    token: str
    """The value of the session's cookie; empty without a session."""
    form: FormData
    facts: Facts = field(default_factory=dict)
    place: Place | None = None
    """In a queue that the tenant shares; None for what belongs to no tenant."""

    @property
    def agent(self) -> str:
        return self.request.headers.get("user-agent", "")

    @property
    def is_page_of_tenant(self) -> bool:
        return isinstance(self, TenantView)

    @property
    def is_fragment(self) -> bool:
        """Whether a script of ours asked, to replace a part of the page."""
        return "hx-request" in self.request.headers

    def text(self, name: str) -> str:
        """A field of the form; empty if it is missing."""
        value = self.form.get(name, "")
        return value if isinstance(value, str) else ""

    def query(self, name: str) -> str:
        return self.request.query_params.get(name, "")

    def leave_queue(self) -> None:
        """Gives the place back early, before waiting for others: a provider may take seconds."""
        if self.place is not None:
            self.place.leave()

    def note(self, **facts: Json) -> None:
        """Adds facts to this change's audit entry. Never pass secrets."""
        self.facts.update(facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonView(View):
    """A request of a person who is logged in."""

    person: Person
    memberships: tuple[Membership, ...]
    session_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantView(PersonView):
    """A request of a person inside one of their tenants.

    `stores` and `own` see nothing of other tenants and people.
    """

    membership: Membership
    stores: TenantStores
    own: PersonStores

    def url(self, path: str) -> str:
        return f"/t/{self.membership.tenant}{path}"

    def came_from(self) -> str:
        """The page of this tenant that led here, for a link back; empty if there is none.

        The header of a browser is not trusted: only a path of this tenant is taken from it.
        """
        referrer = urlsplit(self.request.headers.get("referer", ""))
        path = own_path(f"{referrer.path}?{referrer.query}" if referrer.query else referrer.path, "")
        is_own = referrer.netloc == self.request.headers.get("host") and path.startswith(self.url("/"))
        return path if is_own and referrer.path != self.request.url.path else ""

    def post_id(self) -> PostId:
        parameters = self.request.path_params
        return PostId(ChannelId(parameters["channel"]), MessageId(parameters["message"]))


type Content = Mapping[str, object]


def go(url: str) -> Response:
    """Continues on another page of ours after a form."""
    return RedirectResponse(url, status_code=303)


def own_path(path: str, fallback: str) -> str:
    """A path on this site, never another site, where two slashes or a backslash would lead."""
    if not path.startswith("/") or path.startswith("//") or "\\" in path or not path.isprintable():
        return fallback
    return quote(path, safe="/?&=%:+-_.~,@!*'()")


def check_characters(request: Request, form: FormData) -> None:
    """Raises Rejected for characters in the path, the query or a form that PostgreSQL refuses: NUL,
    and halves of characters.
    """
    fields = [part for field in (*request.query_params.multi_items(), *form.multi_items()) for part in field]
    names = [part.filename or "" if isinstance(part, UploadFile) else part for part in fields]
    if any(storable(text) != text for text in (*names, *map(str, request.path_params.values()))):
        raise Rejected(CHARACTERS_UNSTORABLE)


def with_notice(path: str, **notice: object) -> str:
    """The path of a page of ours that tells what was just done; what it told before is over."""
    parts = urlsplit(path)
    fields = parse_qsl(parts.query, keep_blank_values=True)
    if not notice and NOTICES.isdisjoint(name for name, _ in fields):
        return path
    query = [(name, value) for name, value in fields if name not in NOTICES]
    query += [(name, str(value)) for name, value in notice.items()]
    return urlunsplit(parts._replace(query=urlencode(query)))


def uuid_of(text: str) -> UUID:
    """Raises Missing for anything that is no id."""
    try:
        return UUID(text)
    except ValueError as error:
        raise Missing(PAGE_UNKNOWN) from error


def channel_id_of(text: str) -> ChannelId:
    """Raises Missing for anything that is no id."""
    if not text.isascii() or not text.isdecimal() or int(text) >= 2**63:
        raise Missing(PAGE_UNKNOWN)
    return ChannelId(int(text))


def moment_of(text: str) -> datetime:
    """A moment that a page of ours has written. Raises Rejected for anything else."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise Rejected(FORM_DAMAGED) from error
    if moment.tzinfo is None:
        raise Rejected(FORM_DAMAGED)
    return moment
