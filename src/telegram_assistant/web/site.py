"""The web application: every page and form.

A new page is a template, a function that reads what it shows, and a line in one of the three lists.
It is long because it lists every page and form.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from telegram_assistant.assembly import ApiApp
from telegram_assistant.domain.tenants.access import KeyScope
from telegram_assistant.web.access.hosts import HostMiddleware
from telegram_assistant.web.handling import PageHandler
from telegram_assistant.web.headers import HeadersMiddleware
from telegram_assistant.web.limits import RouteKind
from telegram_assistant.web.live import LiveHub
from telegram_assistant.web.media import ORIGINAL_PATH, THUMBNAIL_PATH
from telegram_assistant.web.page import Action, AnyRoute, OpenRoute, Page, PersonRoute, TenantRoute
from telegram_assistant.web.pages import ask, graph, lists, media
from telegram_assistant.web.pages.accounts import accounts, setup
from telegram_assistant.web.pages.channels import adding, channel, channels, record
from telegram_assistant.web.pages.digests import digests, interests
from telegram_assistant.web.pages.feed import feed, live
from telegram_assistant.web.pages.operations import checks, dead_letters, overview
from telegram_assistant.web.pages.people import login, members, person
from telegram_assistant.web.pages.posts import changes, post
from telegram_assistant.web.pages.receivers import feed_file, receivers, subscriptions
from telegram_assistant.web.pages.search import destinations, search
from telegram_assistant.web.pages.sharing import copies, links, public_link
from telegram_assistant.web.pages.stories import marks, story, today, trends
from telegram_assistant.web.pages.tenants import audit, keys
from telegram_assistant.web.pages.tenants import tenants as operated_tenants
from telegram_assistant.web.pages.understanding import ai, tags
from telegram_assistant.web.pages.watches import alerts, watches
from telegram_assistant.web.rendering import STATIC
from telegram_assistant.web.views import PersonView, TenantView, View

OF_API = ("/api/", "/docs", "/openapi.json")
"""Paths that the API answers."""

COMPRESSION = 3
"""Takes a sixth of the time of 9; pages are a tenth longer."""

OPEN: tuple[OpenRoute, ...] = (
    Page("/login", login.show, "login.html", queries=1),
    Action("/login", login.log_in, "login.html"),
    Page("/start", login.show_start, "start.html", queries=1),
    Action("/start", login.start, "start.html"),
    Page("/link/{token}", login.show_link, "link.html", queries=1),
    Action("/link/{token}", login.use_link, "link.html"),
    Page("/feeds/{file}", feed_file.show, "", queries=9, kind=RouteKind.FEED),
    Page("/confirm/{token}", subscriptions.show_confirm, "subscription.html", queries=1),
    Action("/confirm/{token}", subscriptions.confirm, "subscription.html"),
    Page("/unsubscribe/{token}", subscriptions.show_unsubscribe, "subscription.html", queries=1),
    Action("/unsubscribe/{token}", subscriptions.unsubscribe, "subscription.html", is_proven_by_address=True),
    Action("/subscribe/{token}", subscriptions.subscribe_again, "subscription.html"),
    Page("/s/{token}", public_link.show, "", queries=12, kind=RouteKind.LINK),
    Page(feed_file.PICTURE_PATH, feed_file.show_picture, "", queries=5),
)
"""Everybody may open them."""

TODAY: Page[TenantView] = Page("/today", today.show, "today.html", queries=11, needs=KeyScope.READ)
FEED: Page[TenantView] = Page("/feed", feed.show, "feed.html", queries=5, needs=KeyScope.READ)

OF_PERSON: tuple[PersonRoute, ...] = (
    Page("/", partial(person.home, TODAY, FEED), "tenants.html", queries=TODAY.queries + 1),
    Page("/me", person.show, "me.html", queries=3),
    Action("/me/preferences", person.set_preferences, "me.html"),
    Action("/me/password", person.change_password, "me.html"),
    Action("/me/sessions/{session}/end", person.end_session),
    Action("/me/sessions/end", person.end_other_sessions),
    Action("/join/{token}", login.join),
    Action("/logout", login.log_out),
)
"""For everybody who is logged in."""

OF_TENANT: tuple[TenantRoute, ...] = (
    TODAY,
    Action("/today/grouping", today.choose_grouping, needs=KeyScope.WRITE, audited="choose_story_grouping"),
    Page("/story/{channel:int}/{message:int}", story.show, "story.html", queries=9, needs=KeyScope.READ),
    Action(
        "/story/{channel:int}/{message:int}/summary",
        story.write,
        "story.html",
        needs=KeyScope.READ,
        kind=RouteKind.EXPENSIVE,
    ),
    Page(
        "/story/{channel:int}/{message:int}/copy",
        copies.copy_story,
        "copy.html",
        queries=7,
        needs=KeyScope.READ,
    ),
    Action(
        "/story/{channel:int}/{message:int}/apart",
        story.take_out,
        needs=KeyScope.WRITE,
        audited="take_post_out",
    ),
    Action(
        "/story/{channel:int}/{message:int}/back",
        story.put_back,
        needs=KeyScope.WRITE,
        audited="put_post_back",
    ),
    Action("/story/{channel:int}/{message:int}/mark", marks.change, "story_marks.html", needs=KeyScope.READ),
    FEED,
    Page("/saved", feed.show_saved, "saved.html", queries=8, needs=KeyScope.READ),
    Page("/lists", lists.show, "lists.html", queries=2, needs=KeyScope.READ),
    Action("/lists", lists.create, needs=KeyScope.WRITE, audited="create_list"),
    Page("/lists/add", lists.show_add, "list_add.html", queries=3, needs=KeyScope.WRITE),
    Action("/lists/add", lists.add, "list_added.html", needs=KeyScope.WRITE, audited="add_list_item"),
    Page("/lists/{list}", lists.show_one, "list.html", queries=5, needs=KeyScope.READ),
    Action("/lists/{list}/rename", lists.rename, needs=KeyScope.WRITE, audited="rename_list"),
    Action("/lists/{list}/delete", lists.delete, needs=KeyScope.WRITE, audited="delete_list"),
    Action("/lists/{list}/items/{item}", lists.change_item, needs=KeyScope.WRITE, audited="change_list_item"),
    Action(
        "/lists/{list}/items/{item}/remove", lists.remove, needs=KeyScope.WRITE, audited="remove_list_item"
    ),
    Action(
        "/lists/{list}/items/{item}/restore", lists.restore, needs=KeyScope.WRITE, audited="restore_list_item"
    ),
    Action("/read", feed.mark_read, "feed_posts.html", needs=KeyScope.READ),
    Action("/read/all", feed.mark_all_read, needs=KeyScope.READ),
    Action("/read/undo", feed.undo, needs=KeyScope.READ),
    Action("/save", feed.save, "feed_posts.html", needs=KeyScope.READ),
    Page("/mutes", feed.show_mutes, "mutes.html", queries=3, needs=KeyScope.READ),
    Action("/mutes", feed.mute, needs=KeyScope.READ),
    Page("/search", search.show, "search.html", queries=12, needs=KeyScope.READ, kind=RouteKind.EXPENSIVE),
    Page("/search/file/{kind}", search.export, "", queries=12, needs=KeyScope.READ, kind=RouteKind.EXPENSIVE),
    Action(
        "/search/feed", search.create_feed, "search.html", needs=KeyScope.ADMIN, audited="create_feed_address"
    ),
    Page("/search/suggest", search.suggest, "suggestions.html", queries=3, needs=KeyScope.READ),
    Action("/search/saved", search.save, needs=KeyScope.WRITE, audited="save_search"),
    Action(
        "/search/saved/{search}/delete", search.delete, needs=KeyScope.WRITE, audited="delete_saved_search"
    ),
    Page("/digest", digests.show, "digest.html", queries=7, needs=KeyScope.READ),
    Page("/digest/plan", digests.show_plan, "digest_plan.html", queries=4, needs=KeyScope.READ),
    Action("/digest/plan", digests.set_plan, needs=KeyScope.READ, audited="set_digest_plan"),
    Action(
        "/digest/feed",
        digests.create_feed,
        "digest_plan.html",
        needs=KeyScope.READ,
        audited="create_digest_feed",
    ),
    Action(
        "/digest/feed/{address}/revoke",
        digests.revoke_feed,
        needs=KeyScope.READ,
        audited="revoke_digest_feed",
    ),
    Action("/digest/make", digests.make, needs=KeyScope.READ, kind=RouteKind.EXPENSIVE),
    Page("/digest/{digest}/copy", copies.copy_digest, "copy.html", queries=3, needs=KeyScope.READ),
    Page("/digest/{digest}", digests.show_one, "digest.html", queries=6, needs=KeyScope.READ),
    Page("/trends", trends.show, "trends.html", queries=7, needs=KeyScope.READ),
    Page("/interests", interests.show, "interests.html", queries=3, needs=KeyScope.READ),
    Action("/interests", interests.write_down, needs=KeyScope.READ),
    Action("/interests/remove", interests.remove, needs=KeyScope.READ),
    Action("/interests/reset", interests.reset, needs=KeyScope.READ),
    Action("/interests/say", interests.give_feedback, needs=KeyScope.READ),
    Page("/ask", ask.show, "ask.html", queries=12, needs=KeyScope.READ, kind=RouteKind.EXPENSIVE),
    Page(
        "/ask/brief",
        ask.show_brief,
        "ask_brief.html",
        queries=12,
        needs=KeyScope.READ,
        kind=RouteKind.EXPENSIVE,
    ),
    Page("/ask/stream", ask.stream, "", queries=12, needs=KeyScope.READ, kind=RouteKind.EXPENSIVE),
    Page("/changes", changes.show, "changes.html", queries=5, needs=KeyScope.READ),
    Page("/changes/caught", changes.show_caught, "caught.html", queries=5, needs=KeyScope.READ),
    Page("/changes/caught/{day}", changes.show_caught_week, "caught.html", queries=5, needs=KeyScope.READ),
    Page("/changes/caught/{day}/picture", changes.draw_caught_week, "", queries=5, needs=KeyScope.READ),
    Page("/changes/caught/{day}/copy", copies.copy_caught, "copy.html", queries=5, needs=KeyScope.READ),
    Page("/alerts", alerts.show, "alerts.html", queries=4, needs=KeyScope.READ),
    Action("/alerts/seen", alerts.mark_seen, needs=KeyScope.READ),
    Action("/alerts/{alert}/open", alerts.open_one, needs=KeyScope.READ),
    Page("/watches", watches.show, "watches.html", queries=2, needs=KeyScope.READ),
    Page("/watches/new", watches.show_new, "watch.html", queries=8, needs=KeyScope.WRITE),
    Page(
        "/watches/preview",
        watches.preview,
        "watch_preview.html",
        queries=7,
        needs=KeyScope.READ,
        kind=RouteKind.EXPENSIVE,
    ),
    Page("/watches/{watch}", watches.show_one, "watch.html", queries=9, needs=KeyScope.WRITE),
    Action("/watches", watches.create, needs=KeyScope.WRITE, audited="create_watch"),
    Action("/watches/{watch}", watches.change, needs=KeyScope.WRITE, audited="change_watch"),
    Action("/watches/{watch}/pause", watches.pause, needs=KeyScope.WRITE, audited="pause_watch"),
    Action("/watches/{watch}/delete", watches.delete, needs=KeyScope.WRITE, audited="delete_watch"),
    Page("/receivers", receivers.show, "receivers.html", queries=7, needs=KeyScope.ADMIN),
    Action("/receivers", receivers.create, "receivers.html", needs=KeyScope.ADMIN, audited="create_receiver"),
    Action(
        "/receivers/{receiver}/confirm",
        receivers.confirm,
        "receivers.html",
        needs=KeyScope.ADMIN,
        audited="confirm_receiver",
    ),
    Action(
        "/receivers/{receiver}/code", receivers.send_code, needs=KeyScope.ADMIN, audited="send_receiver_code"
    ),
    Action(
        "/receivers/{receiver}/secret",
        receivers.replace_secret,
        "receivers.html",
        needs=KeyScope.ADMIN,
        audited="replace_webhook_secret",
    ),
    Action("/receivers/{receiver}/resume", receivers.resume, needs=KeyScope.ADMIN, audited="resume_receiver"),
    Action("/receivers/{receiver}/pause", receivers.pause, needs=KeyScope.ADMIN, audited="pause_receiver"),
    Action("/receivers/{receiver}/replay", receivers.replay, needs=KeyScope.ADMIN, audited="replay_receiver"),
    Action("/receivers/{receiver}/delete", receivers.delete, needs=KeyScope.ADMIN, audited="delete_receiver"),
    Action(
        "/feeds", receivers.create_feed, "receivers.html", needs=KeyScope.ADMIN, audited="create_feed_address"
    ),
    Action(
        "/feeds/{address}/revoke", receivers.revoke_feed, needs=KeyScope.ADMIN, audited="revoke_feed_address"
    ),
    Page("/tags", tags.show, "tags.html", queries=4, needs=KeyScope.READ),
    Page(
        "/tags/{tag}", tags.show_posts, "tag.html", queries=7, needs=KeyScope.READ, kind=RouteKind.EXPENSIVE
    ),
    Page("/post/{channel:int}/{message:int}", post.show, "post.html", queries=7, needs=KeyScope.READ),
    Page(
        "/post/{channel:int}/{message:int}/copy",
        copies.copy_post,
        "copy.html",
        queries=4,
        needs=KeyScope.READ,
    ),
    Page("/links", links.show, "links.html", queries=10, needs=KeyScope.READ),
    Action("/links", links.create, "links.html", needs=KeyScope.WRITE, audited="create_public_link"),
    Action("/links/{link}/revoke", links.revoke, needs=KeyScope.READ, audited="revoke_public_link"),
    Page("/copy", copies.copy_posts, "copy.html", queries=2, needs=KeyScope.READ),
    Page(ORIGINAL_PATH, media.show, "", queries=2, needs=KeyScope.READ, kind=RouteKind.MEDIA),
    Page(THUMBNAIL_PATH, media.show, "", queries=2, needs=KeyScope.READ, kind=RouteKind.MEDIA),
    Page("/go", destinations.show, "destinations.html", queries=4, needs=KeyScope.READ),
    Page("/go/found", destinations.find, "destinations_found.html", queries=4, needs=KeyScope.READ),
    Page("/spread/{channel:int}", graph.show, "spread.html", queries=6, needs=KeyScope.READ),
    Page(
        "/channels", channels.show, "channels.html", queries=5, needs=KeyScope.READ, kind=RouteKind.EXPENSIVE
    ),
    Page("/channels/export/{kind}", channels.export, "", queries=2, needs=KeyScope.READ),
    Action("/channels/change", channels.change, needs=KeyScope.WRITE, audited="change_channels"),
    Action("/channels/unfollow", channels.unfollow, needs=KeyScope.WRITE, audited="unfollow_channels"),
    Page("/channels/{channel:int}", channel.show, "channel.html", queries=12, needs=KeyScope.READ),
    Page(
        "/channels/{channel:int}/record/{fact}",
        record.show,
        "channel_record.html",
        queries=5,
        needs=KeyScope.READ,
    ),
    Action(
        "/channels/{channel:int}/settings", channel.change, needs=KeyScope.WRITE, audited="change_channel"
    ),
    Action(
        "/channels/{channel:int}/unfollow",
        channel.unfollow_one,
        needs=KeyScope.WRITE,
        audited="unfollow_channel",
    ),
    Action("/channels/{channel:int}/read", channel.read_now, needs=KeyScope.WRITE, audited="poll_channel"),
    Page("/channels/add", adding.show, "add_channels.html", queries=7, needs=KeyScope.WRITE),
    Action(
        "/channels/add",
        adding.add,
        needs=KeyScope.WRITE,
        audited="follow_channels",
        limits=adding.LIST_LIMITS,
        kind=RouteKind.EXPENSIVE,
    ),
    Action("/channels/add/folder", adding.add_folder, needs=KeyScope.WRITE, audited="follow_folder"),
    Action("/channels/joined", adding.ask_for_joined, needs=KeyScope.WRITE, audited="read_joined_channels"),
    Action(
        "/channels/joined/follow",
        adding.pick,
        needs=KeyScope.WRITE,
        audited="follow_joined_channels",
        limits=adding.PICK_LIMITS,
        kind=RouteKind.EXPENSIVE,
    ),
    Page("/channels/requests", adding.show_requests, "requests.html", queries=8, needs=KeyScope.READ),
    Action(
        "/channels/requests/retry",
        adding.try_all_again,
        needs=KeyScope.WRITE,
        audited="retry_channel_requests",
    ),
    Action(
        "/channels/requests/{request}/retry",
        adding.try_again,
        needs=KeyScope.WRITE,
        audited="retry_channel_request",
    ),
    Page("/members", members.show, "members.html", queries=5, needs=KeyScope.ADMIN),
    Page("/members/{member}", members.show_one, "member.html", queries=4, needs=KeyScope.ADMIN),
    Action("/members/invite", members.invite, "members.html", needs=KeyScope.ADMIN, audited="invite_member"),
    Action(
        "/members/invitations/{invitation}/withdraw",
        members.withdraw,
        needs=KeyScope.ADMIN,
        audited="withdraw_invitation",
    ),
    Action("/members/{member}/role", members.set_role, needs=KeyScope.ADMIN, audited="set_member_role"),
    Action("/members/{member}/remove", members.remove, needs=KeyScope.ADMIN, audited="remove_member"),
    Page("/setup", setup.show, "setup.html", queries=9, needs=KeyScope.ADMIN),
    Page("/setup/login", setup.show_login, "setup_login.html", queries=3, needs=KeyScope.ADMIN),
    Action(
        "/setup/application",
        setup.enter_application,
        "setup.html",
        needs=KeyScope.ADMIN,
        audited="enter_application",
    ),
    Action("/setup/proxy", setup.enter_proxy, "setup.html", needs=KeyScope.ADMIN, audited="enter_proxy"),
    Action("/setup/proxy/forget", setup.forget_proxy, needs=KeyScope.ADMIN, audited="forget_proxy"),
    Action("/setup/login", setup.begin_login, needs=KeyScope.ADMIN, audited="begin_login"),
    Action("/setup/login/{login}/answer", setup.answer_login, needs=KeyScope.ADMIN),
    Action(
        "/setup/login/{login}/give-up", setup.give_up_login, needs=KeyScope.ADMIN, audited="give_up_login"
    ),
    Page("/operations", overview.show, "operations.html", queries=6, needs=KeyScope.OPERATE),
    Page(
        "/operations/numbers", overview.refresh, "operations_numbers.html", queries=6, needs=KeyScope.OPERATE
    ),
    Page("/operations/checks", checks.show, "operations_checks.html", queries=12, needs=KeyScope.OPERATE),
    Page(
        "/operations/dead-letters",
        dead_letters.show,
        "operations_dead_letters.html",
        queries=2,
        needs=KeyScope.OPERATE,
    ),
    Action(
        "/operations/dead-letters/{number}/replay",
        dead_letters.replay,
        needs=KeyScope.OPERATE,
        audited="replay_dead_letter",
    ),
    Action(
        "/operations/dead-letters/{number}/discard",
        dead_letters.discard,
        needs=KeyScope.OPERATE,
        audited="discard_dead_letter",
    ),
    Page(
        "/operations/tenants",
        operated_tenants.show,
        "operations_tenants.html",
        queries=100,
        needs=KeyScope.OPERATE,
    ),
    Action(
        "/operations/tenants/create", operated_tenants.create, needs=KeyScope.OPERATE, audited="create_tenant"
    ),
    Action(
        "/operations/tenants/{chosen}/suspend",
        operated_tenants.suspend,
        needs=KeyScope.OPERATE,
        audited="suspend_tenant",
    ),
    Action(
        "/operations/tenants/{chosen}/resume",
        operated_tenants.resume,
        needs=KeyScope.OPERATE,
        audited="resume_tenant",
    ),
    Action(
        "/operations/tenants/{chosen}/quota",
        operated_tenants.set_quota,
        needs=KeyScope.OPERATE,
        audited="set_media_quota",
    ),
    Action(
        "/operations/tenants/{chosen}/budget",
        operated_tenants.set_budget,
        needs=KeyScope.OPERATE,
        audited="set_tenant_budget",
    ),
    Page("/accounts", accounts.show, "accounts.html", queries=3, needs=KeyScope.READ),
    Action("/accounts/{account}/pause", accounts.pause, needs=KeyScope.ADMIN, audited="pause_own_account"),
    Action("/accounts/{account}/resume", accounts.resume, needs=KeyScope.ADMIN, audited="resume_own_account"),
    Action(
        "/accounts/{account}/logout", accounts.log_out, needs=KeyScope.ADMIN, audited="log_out_own_account"
    ),
    Action("/accounts/{account}/reset", accounts.reset, needs=KeyScope.ADMIN, audited="reset_own_account"),
    Page("/ai", ai.show, "ai.html", queries=9, needs=KeyScope.READ),
    Action("/ai/default", ai.choose_default, needs=KeyScope.ADMIN, audited="choose_default_policy"),
    Action("/ai/policies", ai.choose_policies, needs=KeyScope.ADMIN, audited="choose_policies"),
    Action("/ai/consent", ai.consent, needs=KeyScope.ADMIN, audited="give_consent"),
    Action("/ai/consent/withdraw", ai.withdraw_consent, needs=KeyScope.ADMIN, audited="withdraw_consent"),
    Action("/ai/budget", ai.set_budget, needs=KeyScope.OPERATE, audited="set_tenant_budget"),
    Action(
        "/ai/history",
        ai.understand,
        needs=KeyScope.ADMIN,
        audited="understand_own_history",
        kind=RouteKind.EXPENSIVE,
    ),
    Page("/keys", keys.show, "keys.html", queries=2, needs=KeyScope.ADMIN),
    Action("/keys", keys.create, "keys.html", needs=KeyScope.ADMIN, audited="create_api_key"),
    Action("/keys/{key}/revoke", keys.revoke, needs=KeyScope.ADMIN, audited="revoke_api_key"),
    Page("/audit", audit.show, "audit.html", queries=2, needs=KeyScope.ADMIN),
)
"""Under /t/{tenant}, for members of that tenant: two tabs never mix tenants."""


@dataclass(frozen=True, slots=True)
class WebSite:
    """The site, and how to end the streams of its open pages."""

    site: ASGIApp
    close: Callable[[], None]


def build_web(app: ApiApp, *, api: ASGIApp) -> WebSite:
    """Builds the site of the api role: the API under its own paths, pages everywhere else."""
    handler, hub = PageHandler(app), LiveHub()
    counts: TenantRoute = Page("/live", partial(live.listen, hub), "", queries=3, needs=KeyScope.READ)
    routes = [
        *(
            Route(route.path, handler.endpoint(route, View), methods=[_method(route)], name=name_of(route))
            for route in OPEN
        ),
        *(
            Route(
                route.path, handler.endpoint(route, PersonView), methods=[_method(route)], name=name_of(route)
            )
            for route in OF_PERSON
        ),
        *(
            Route(
                f"/t/{{tenant}}{route.path}",
                handler.endpoint(route, TenantView),
                methods=[_method(route)],
                name=name_of(route),
            )
            for route in (*OF_TENANT, counts)
        ),
        Mount("/static", StaticFiles(directory=str(STATIC))),
    ]
    pages = Starlette(
        routes=routes, exception_handlers={404: handler.handle_error, 405: handler.handle_error}
    )
    hosted = HostMiddleware(pages, settings=app.settings, refuse=handler.refuse_host)
    site = HeadersMiddleware(
        GZipMiddleware(hosted, minimum_size=1000, compresslevel=COMPRESSION), clients=handler.clients
    )

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        await (api if scope["type"] == "http" and scope["path"].startswith(OF_API) else site)(
            scope, receive, send
        )

    return WebSite(choose, hub.close)


def _method(route: AnyRoute) -> str:
    return "GET" if isinstance(route, Page) else "POST"


def name_of(route: AnyRoute) -> str:
    """The page in metrics: its module and function."""
    handler: Any = route.read if isinstance(route, Page) else route.perform
    handler = handler.func if isinstance(handler, partial) else handler
    return f"{handler.__module__.rpartition('.')[2]}.{handler.__name__}"
