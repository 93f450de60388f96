"""A person's public links: make one, see those that work, revoke them."""

from starlette.responses import Response

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.sharing.links import USUAL_DAYS, PublicLink, PublicLinkKind
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.errors import Conflicting, Missing, Rejected
from telegram_assistant.features.feed import person_feed
from telegram_assistant.features.sharing import public_links
from telegram_assistant.web.views import FORM_DAMAGED, PAGE_UNKNOWN, Content, TenantView, go, uuid_of

OFFERED_DAYS = (1, 7, 30, 90)


async def show(view: TenantView) -> Content:
    """With `kind` and `subject`, a form for a new link."""
    if view.query("kind") and view.query("kind") not in set(PublicLinkKind):
        raise Missing(PAGE_UNKNOWN)
    kind, subject = view.query("kind"), view.query("subject")
    private: tuple[str, ...] = ()
    if kind and KeyScope.WRITE in view.membership.scopes:
        try:
            private = await public_links.find_private_channels(
                PublicLinkKind(kind), subject, stores=view.stores, own=view.own
            )
        except Conflicting as error:
            return {**await _content(view), "problem": error.reason}
    content = await _content(view, kind=kind, subject=subject)
    return {**content, "warning": public_links.warn_of_private_channels(private) if private else None}


async def create(view: TenantView) -> Content:
    kind, days = view.text("kind"), view.text("days")
    if kind not in set(PublicLinkKind) or not (
        days.isascii() and days.isdecimal() and len(days) < len("1000")
    ):
        raise Rejected(FORM_DAMAGED)
    created_link = await public_links.create_link(
        PublicLinkKind(kind), view.text("subject"), days=int(days), stores=view.stores, own=view.own
    )
    view.note(
        kind=kind, subject=created_link.link.subject, link=str(created_link.link.link_id), days=int(days)
    )
    base = view.app.settings.web.base_url or str(view.request.base_url).rstrip("/")
    return {**await _content(view), "address": f"{base}{created_link.path}"}


async def revoke(view: TenantView) -> Response:
    link_id = uuid_of(view.request.path_params["link"])
    await public_links.revoke_link(link_id, own=view.own)
    view.note(link=str(link_id))
    return go(view.url("/links"))


async def _content(view: TenantView, *, kind: str = "", subject: str = "") -> Content:
    links = await public_links.list_links(own=view.own)
    return {
        "links": links,
        "first_lines": await _load_first_lines(view, links),
        "kind": kind,
        "subject": subject,
        "offered_days": OFFERED_DAYS,
        "usual_days": USUAL_DAYS,
        "address": None,
        "warning": None,
    }


async def _load_first_lines(view: TenantView, links: tuple[PublicLink, ...]) -> dict[str, str]:
    """How the posts begin that stories are named by; nothing of them is stored with a link."""
    post_ids = [PostId.parse(link.subject) for link in links if link.kind is PublicLinkKind.STORY]
    if not post_ids:
        return {}
    return {
        str(post.stored.post.id): post.stored.post.text
        for post in await person_feed.read_posts(post_ids, own=view.own)
    }
