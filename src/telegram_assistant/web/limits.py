"""Limits of pages, pictures and feeds: per person, per tenant and, without a login, per network."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from starlette.requests import Request

from telegram_assistant.assembly import ApiApp
from telegram_assistant.domain.ids import TenantId, UserId
from telegram_assistant.errors import Busy, Missing, Throttled
from telegram_assistant.fair_queue import WorkKind
from telegram_assistant.features.receivers.rss_feeds import find_feed
from telegram_assistant.features.sharing.public_links import find_link
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import WebSettings
from telegram_assistant.stores.postgres.people.people import FoundSession
from telegram_assistant.stores.redis.limiter import Limiter, network_of
from telegram_assistant.stores.redis.rate_limits import Bucket, BucketOwner

MEDIA_PER_PAGE = 3
"""So many times as many pictures as pages: a page shows dozens of them at once."""
EXPENSIVE_COST = 10
"""An expensive page counts as so many others."""
BURST_SHARE = 5
"""A fifth of the requests of a minute may come at once."""
MIN_AWAY_SECONDS = 5
"""A server that is away gets so much time to come back."""
FEED_PER_MINUTE, FEED_AT_ONCE = 30, 30
TENANT_FEEDS_PER_MINUTE, TENANT_FEEDS_AT_ONCE = 300, 300
"""Feed readers ask every few minutes; a tenant has at most 200 feeds."""


LINK_PER_MINUTE, LINK_AT_ONCE = 60, 30
TENANT_LINKS_PER_MINUTE, TENANT_LINKS_AT_ONCE = 300, 100
"""Of all networks together; each network also has the limit of pages without a login."""


class RouteKind(StrEnum):
    """The kinds of requests that are counted differently, or wait in different queues."""

    PAGE = "page"
    EXPENSIVE = "expensive"
    MEDIA = "media"
    FEED = "feed"
    LINK = "link"
    """A public link."""

    @property
    def work(self) -> WorkKind:
        """The queue of the kind."""
        return {RouteKind.EXPENSIVE: WorkKind.EXPENSIVE, RouteKind.MEDIA: WorkKind.MEDIA}.get(
            self, WorkKind.ORDINARY
        )


@dataclass(frozen=True, slots=True)
class RequestShare:
    """Whose share of the installation a request takes: the buckets that count it,
    and who waits for a place in a queue.
    """

    buckets: Sequence[Bucket]
    tenant_id: TenantId | None = None
    """None for what belongs to no tenant: it waits in no queue."""
    caller: str = ""

    async def count(self, limiter: Limiter) -> None:
        """Raises Throttled if one of the buckets is empty."""
        decision = await limiter.take(*self.buckets)
        if not decision.allowed:
            raise Throttled(
                _reason(decision.bucket.counted_by, math.ceil(decision.seconds)),
                retry_after_seconds=decision.seconds,
            )


async def find_share(
    request: Request,
    kind: RouteKind,
    session: FoundSession | None,
    *,
    app: ApiApp,
    tenant: UUID | None = None,
) -> RequestShare:
    """Whose share a request takes: of a feed, of a person and the tenant, or of a network without a login."""
    settings, address = app.settings.web, request.scope["tga.client"].address
    if kind is RouteKind.FEED:
        token = request.path_params["file"].rpartition(".")[0]
        try:
            feed = await find_feed(token, directory=app.api.feed_directory)
        except Missing:
            return visitor_share(settings, address)
        return feed_share(token, feed.tenant_id)
    if kind is RouteKind.LINK:
        token = request.path_params["token"]
        try:
            link = await find_link(token, directory=app.api.public_link_directory)
        except Missing:
            return visitor_share(settings, address)
        return link_share(settings, address, token, link.tenant_id)
    if session is None:
        return visitor_share(settings, address)
    tenant_id = next(
        (membership.tenant_id for membership in session.memberships if membership.tenant == tenant), None
    )
    return person_share(settings, kind, user_id=session.person.user_id, tenant_id=tenant_id)


def tenant_in_path(request: Request) -> UUID | None:
    """The tenant in the address, however its id is spelt."""
    try:
        return UUID(request.path_params.get("tenant", ""))
    except ValueError:
        return None


def retry_after(error: Busy) -> dict[str, str]:
    """The header that says when to try again."""
    seconds = max(
        1 if isinstance(error, Throttled) else MIN_AWAY_SECONDS, math.ceil(error.retry_after_seconds)
    )
    return {"Retry-After": str(seconds)}


def person_share(
    settings: WebSettings, kind: RouteKind, *, user_id: UserId, tenant_id: TenantId | None
) -> RequestShare:
    """The share of a person who is logged in, and of their tenant where the page belongs to one."""
    own = _page_bucket(kind, BucketOwner.PERSON, BucketOwner.PERSON_MEDIA, str(user_id), settings.per_minute)
    if tenant_id is None:
        return RequestShare((own,))
    tenant_bucket = _page_bucket(
        kind, BucketOwner.TENANT_PAGES, BucketOwner.TENANT_MEDIA, str(tenant_id), settings.tenant_per_minute
    )
    return RequestShare((own, tenant_bucket), tenant_id, f"person {user_id}")


def visitor_share(settings: WebSettings, address: str) -> RequestShare:
    """The share of a network, for pages without a login."""
    return RequestShare((_bucket(BucketOwner.VISITOR, network_of(address), settings.per_minute),))


def feed_share(token: str, tenant_id: TenantId) -> RequestShare:
    """The share of a feed's secret address, and of all feeds of its tenant."""
    hashed_text = hashlib.sha256(token.encode()).hexdigest()[:32]
    buckets = (
        Bucket(BucketOwner.FEED, hashed_text, FEED_PER_MINUTE, FEED_AT_ONCE),
        Bucket(BucketOwner.TENANT_FEEDS, str(tenant_id), TENANT_FEEDS_PER_MINUTE, TENANT_FEEDS_AT_ONCE),
    )
    return RequestShare(buckets, tenant_id, caller=f"feed {hashed_text}")


def link_share(settings: WebSettings, address: str, token: str, tenant_id: TenantId) -> RequestShare:
    """The share of a network, of a public link, and of all public links of its tenant."""
    hashed_text = hashlib.sha256(token.encode()).hexdigest()[:32]
    buckets = (
        *visitor_share(settings, address).buckets,
        Bucket(BucketOwner.PUBLIC_LINK, hashed_text, LINK_PER_MINUTE, LINK_AT_ONCE),
        Bucket(BucketOwner.TENANT_LINKS, str(tenant_id), TENANT_LINKS_PER_MINUTE, TENANT_LINKS_AT_ONCE),
    )
    return RequestShare(buckets, tenant_id, caller=f"link {hashed_text}")


def _page_bucket(
    kind: RouteKind, of_pages: BucketOwner, of_media: BucketOwner, name: str, per_minute: int
) -> Bucket:
    if kind is RouteKind.MEDIA:
        return _bucket(of_media, name, per_minute * MEDIA_PER_PAGE)
    return _bucket(of_pages, name, per_minute, cost=EXPENSIVE_COST if kind is RouteKind.EXPENSIVE else 1)


def _bucket(owner: BucketOwner, name: str, per_minute: int, *, cost: int = 1) -> Bucket:
    return Bucket(owner, name, per_minute, max(per_minute // BURST_SHARE, cost), cost)


def _reason(owner: BucketOwner, seconds: int) -> Reason:
    match owner:
        case BucketOwner.PERSON | BucketOwner.PERSON_MEDIA:
            return Reason(
                "person_too_many_pages",
                "you opened too many pages in a short time; try again in {count} second",
                "you opened too many pages in a short time; try again in {count} seconds",
                count=seconds,
            )
        case BucketOwner.TENANT_PAGES | BucketOwner.TENANT_MEDIA:
            return Reason(
                "tenant_too_many_pages",
                "the members of your tenant opened too many pages in a short time; try again in {count} "
                "second",
                "the members of your tenant opened too many pages in a short time; try again in {count} "
                "seconds",
                count=seconds,
            )
        case BucketOwner.VISITOR:
            return Reason(
                "network_too_many_pages",
                "your network opened too many pages in a short time; try again in {count} second",
                "your network opened too many pages in a short time; try again in {count} seconds",
                count=seconds,
            )
        case BucketOwner.PUBLIC_LINK | BucketOwner.TENANT_LINKS:
            return Reason(
                "link_too_often",
                "this link is opened too often; try again in {count} second",
                "this link is opened too often; try again in {count} seconds",
                count=seconds,
            )
        case _:
            return Reason(
                "feed_too_often",
                "this feed, or all feeds of its tenant, are read too often; try again in {count} second",
                "this feed, or all feeds of its tenant, are read too often; try again in {count} seconds",
                count=seconds,
            )
