"""How tenant A opens every page and sends every form, with its own ids and with those of B.

It is long because it has a case for every page and form.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from uuid import UUID

from tests.api.worlds import MARK, ONLY_B, Worlds

ON_PAGES = {
    "search": "SELECT search_id FROM saved_searches WHERE tenant_id = $1",
    "alert": "SELECT alert_id FROM alerts WHERE tenant_id = $1 LIMIT 1",
    "digest": "SELECT digest_id FROM digests WHERE tenant_id = $1 LIMIT 1",
    "link": "SELECT link_id FROM public_links WHERE tenant_id = $1 LIMIT 1",
    "login": "SELECT attempt_id FROM login_attempts WHERE tenant_id = $1",
    "member": (
        "SELECT u.public_id FROM memberships m JOIN users u USING (user_id) WHERE m.tenant_id = $1 LIMIT 1"
    ),
    "invitation": "SELECT public_id FROM one_time_links WHERE tenant_id = $1 AND kind = 'invitation' LIMIT 1",
}
"""How to find what B's people have on pages."""
NOBODY = UUID(int=0x4000_8000_0000_0000_0000)


def today() -> date:
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class PageCase:
    """Paths below the tenant's; the second one names what is B's.

    `status` is that of the first, `foreign_status` of the second.
    """

    own: Callable[[Worlds], str]
    foreign: Callable[[Worlds], str] | None = None
    status: int = 200
    foreign_status: int = 404
    form: Callable[[Worlds], Mapping[str, str]] = field(default=lambda _worlds: {})


def _post(worlds: Worlds) -> str:
    return f"{worlds.only_a[0]}/101"


def _list_of(tenant: str, rest: str = "") -> Callable[[Worlds], str]:
    """The list of A or B, which has the tenant's number as its id."""
    return lambda worlds: f"/lists/{UUID(int=getattr(worlds, tenant))}{rest}"


def _item_of(tenant: str, rest: str = "") -> Callable[[Worlds], str]:
    return lambda worlds: f"{_list_of(tenant)(worlds)}/items/{UUID(int=getattr(worlds, tenant))}{rest}"


CASES: dict[str, PageCase] = {
    # Before any form of A that names what is B's: what A itself has written stands in its audit log.
    "audit.show": PageCase(lambda _: "/audit"),
    "today.show": PageCase(
        lambda _: "/today?window=week", lambda _: f"/today?window=week&folder={MARK}", foreign_status=200
    ),
    "today.choose_grouping": PageCase(
        lambda _: "/today/grouping", status=303, form=lambda _: {"grouping": "strict"}
    ),
    "story.show": PageCase(
        lambda worlds: f"/story/{worlds.shared[0]}/102", lambda _: f"/story/{ONLY_B[0]}/102"
    ),
    "copies.copy_story": PageCase(
        lambda worlds: f"/story/{worlds.shared[0]}/102/copy?format=markdown",
        lambda _: f"/story/{ONLY_B[0]}/102/copy?format=markdown",
    ),
    "copies.copy_post": PageCase(
        lambda worlds: f"/post/{worlds.only_a[0]}/101/copy?format=json",
        lambda _: f"/post/{ONLY_B[0]}/101/copy?format=json",
    ),
    "copies.copy_posts": PageCase(
        lambda worlds: f"/copy?format=csv&post={worlds.only_a[0]}/101&post={ONLY_B[0]}/101",
        lambda _: f"/copy?format=csv&post={ONLY_B[0]}/101",
    ),
    "copies.copy_digest": PageCase(
        lambda _: f"/digest/{NOBODY}/copy?format=text",
        lambda worlds: f"/digest/{worlds.ids_of_b['digest']}/copy?format=text",
        status=404,
    ),
    "links.show": PageCase(
        lambda worlds: f"/links?kind=story&subject={worlds.shared[0]}/102",
        lambda _: f"/links?kind=story&subject={ONLY_B[0]}/102",
    ),
    "links.create": PageCase(
        lambda _: "/links",
        status=404,
        form=lambda _: {"kind": "story", "subject": f"{ONLY_B[0]}/102", "days": "7"},
    ),
    "links.revoke": PageCase(
        lambda _: f"/links/{NOBODY}/revoke",
        lambda worlds: f"/links/{worlds.ids_of_b['link']}/revoke",
        status=404,
    ),
    "story.write": PageCase(
        lambda worlds: f"/story/{worlds.shared[0]}/102/summary", lambda _: f"/story/{ONLY_B[0]}/102/summary"
    ),
    "story.take_out": PageCase(
        lambda worlds: f"/story/{worlds.shared[0]}/102/apart",
        lambda _: f"/story/{ONLY_B[0]}/102/apart",
        status=303,
    ),
    "story.put_back": PageCase(
        lambda worlds: f"/story/{worlds.shared[0]}/102/back",
        lambda _: f"/story/{ONLY_B[0]}/102/back",
        status=303,
    ),
    "feed.show": PageCase(lambda _: "/feed", lambda _: f"/feed?channel={ONLY_B[0]}", foreign_status=200),
    "feed.show_saved": PageCase(lambda _: "/saved"),
    "lists.show": PageCase(lambda _: "/lists"),
    "lists.create": PageCase(lambda _: "/lists", status=303, form=lambda _: {"name": "snow"}),
    "lists.show_add": PageCase(
        lambda worlds: f"/lists/add?kind=post&post={_post(worlds)}",
        lambda _: f"/lists/add?kind=post&post={ONLY_B[0]}/101",
        foreign_status=200,
    ),
    "lists.add": PageCase(
        lambda _: "/lists/add",
        status=303,
        form=lambda worlds: {"post": _post(worlds), "list": str(UUID(int=worlds.a))},
    ),
    "lists.show_one": PageCase(_list_of("a"), _list_of("b")),
    "lists.rename": PageCase(
        _list_of("a", "/rename"), _list_of("b", "/rename"), status=303, form=lambda _: {"name": "rain"}
    ),
    "lists.change_item": PageCase(
        _item_of("a"), _item_of("b"), status=303, form=lambda _: {"note": "ask them"}
    ),
    "lists.remove": PageCase(_item_of("a", "/remove"), _item_of("b", "/remove"), status=303),
    "lists.restore": PageCase(_item_of("a", "/restore"), _item_of("b", "/restore"), status=303),
    "lists.delete": PageCase(_list_of("a", "/delete"), _list_of("b", "/delete"), status=303),
    "feed.mark_read": PageCase(lambda _: "/read", status=303, form=lambda worlds: {"post": _post(worlds)}),
    "feed.mark_all_read": PageCase(
        lambda _: "/read/all", status=303, form=lambda _: {"snapshot": "2026-11-16T00:00:00+00:00"}
    ),
    "feed.undo": PageCase(lambda _: "/read/undo", status=303),
    "feed.save": PageCase(lambda _: "/save", status=303, form=lambda _: {"post": f"{ONLY_B[0]}/101"}),
    "feed.show_mutes": PageCase(lambda _: "/mutes"),
    "feed.mute": PageCase(lambda _: "/mutes", status=404, form=lambda _: {"channel": str(ONLY_B[0])}),
    "search.show": PageCase(
        lambda _: "/search?q=the+or+в", lambda _: f"/search?q=from:{ONLY_B[0]}", foreign_status=200
    ),
    "search.export": PageCase(
        lambda _: "/search/file/csv?q=the+or+в",
        lambda _: f"/search/file/json?q=from:{ONLY_B[0]}",
        foreign_status=422,
    ),
    "search.create_feed": PageCase(lambda _: "/search/feed", form=lambda _: {"query": "rain"}),
    "search.suggest": PageCase(lambda _: "/search/suggest?q=from:"),
    "search.save": PageCase(
        lambda _: "/search/saved", status=303, form=lambda _: {"name": "snow", "query": "snow"}
    ),
    "search.delete": PageCase(
        lambda _: f"/search/saved/{NOBODY}/delete",
        lambda worlds: f"/search/saved/{worlds.ids_of_b['search']}/delete",
        status=404,
    ),
    "ask.show_brief": PageCase(
        lambda _: "/ask/brief?q=What+is+new+about+snow%3F",
        lambda _: f"/ask/brief?q={MARK}+snow%3F",
        foreign_status=200,
    ),
    "ask.show": PageCase(
        lambda _: "/ask?q=What+is+new+about+snow%3F", lambda _: f"/ask?q={MARK}+snow%3F", foreign_status=200
    ),
    "ask.stream": PageCase(
        lambda _: "/ask/stream?q=What+is+new+about+snow%3F",
        lambda _: f"/ask/stream?q={MARK}+snow%3F",
        foreign_status=200,
    ),
    "changes.show": PageCase(
        lambda worlds: f"/changes?days=30&channel={worlds.shared[0]}",
        lambda _: f"/changes?channel={ONLY_B[0]}",
    ),
    "changes.show_caught": PageCase(lambda _: "/changes/caught"),
    "changes.show_caught_week": PageCase(lambda _: f"/changes/caught/{today()}"),
    "changes.draw_caught_week": PageCase(lambda _: f"/changes/caught/{today()}/picture"),
    "copies.copy_caught": PageCase(lambda _: f"/changes/caught/{today()}/copy?format=markdown"),
    "trends.show": PageCase(lambda _: "/trends?days=7"),
    "digests.show": PageCase(lambda _: "/digest"),
    "digests.show_plan": PageCase(lambda _: "/digest/plan"),
    "digests.set_plan": PageCase(
        lambda _: "/digest/plan", status=303, form=lambda _: {"time": "08:00", "length": "long"}
    ),
    "digests.create_feed": PageCase(lambda _: "/digest/feed"),
    "digests.revoke_feed": PageCase(
        lambda worlds: f"/digest/feed/{UUID(int=worlds.a)}/revoke",
        lambda worlds: f"/digest/feed/{UUID(int=worlds.b)}/revoke",
        status=404,
    ),
    "digests.show_one": PageCase(
        lambda _: f"/digest/{NOBODY}", lambda worlds: f"/digest/{worlds.ids_of_b['digest']}", status=404
    ),
    "digests.make": PageCase(lambda _: "/digest/make", status=303),
    "marks.change": PageCase(
        lambda worlds: f"/story/{worlds.shared[0]}/102/mark",
        lambda _: f"/story/{ONLY_B[0]}/102/mark",
        status=303,
        form=lambda _: {"mark": "saved"},
    ),
    "interests.show": PageCase(lambda _: "/interests"),
    "interests.write_down": PageCase(lambda _: "/interests", status=303, form=lambda _: {"topic": "snow"}),
    "interests.give_feedback": PageCase(
        lambda _: "/interests/say",
        status=404,
        form=lambda _: {"feedback": "muted", "story": f"{ONLY_B[0]}/102"},
    ),
    "interests.remove": PageCase(
        lambda _: "/interests/remove", status=404, form=lambda _: {"topic": "what B likes"}
    ),
    "interests.reset": PageCase(lambda _: "/interests/reset", status=303),
    "alerts.show": PageCase(
        lambda _: "/alerts?show=all",
        lambda worlds: f"/alerts?show=all&watch={UUID(int=worlds.b)}",
        foreign_status=200,
    ),
    "alerts.open_one": PageCase(
        lambda _: f"/alerts/{NOBODY}/open",
        lambda worlds: f"/alerts/{worlds.ids_of_b['alert']}/open",
        status=404,
    ),
    "alerts.mark_seen": PageCase(
        lambda _: "/alerts/seen", status=303, form=lambda _: {"until": "2026-01-01T00:00:00+00:00"}
    ),
    "watches.show": PageCase(lambda _: "/watches"),
    "watches.show_new": PageCase(lambda _: "/watches/new"),
    "watches.preview": PageCase(
        lambda _: "/watches/preview?kind=changes",
        lambda _: f"/watches/preview?query=from:{ONLY_B[0]}",
        foreign_status=200,
    ),
    "watches.show_one": PageCase(
        lambda worlds: f"/watches/{UUID(int=worlds.a)}", lambda worlds: f"/watches/{UUID(int=worlds.b)}"
    ),
    "watches.create": PageCase(
        lambda _: "/watches", status=303, form=lambda _: {"name": "snow", "query": "snow"}
    ),
    "watches.change": PageCase(
        lambda worlds: f"/watches/{UUID(int=worlds.a)}",
        lambda worlds: f"/watches/{UUID(int=worlds.b)}",
        status=303,
        form=lambda _: {"name": "rain", "query": "rain"},
    ),
    "watches.pause": PageCase(
        lambda worlds: f"/watches/{UUID(int=worlds.a)}/pause",
        lambda worlds: f"/watches/{UUID(int=worlds.b)}/pause",
        status=303,
    ),
    "watches.delete": PageCase(
        lambda worlds: f"/watches/{UUID(int=worlds.a)}/delete",
        lambda worlds: f"/watches/{UUID(int=worlds.b)}/delete",
        status=303,
    ),
    "receivers.show": PageCase(lambda _: "/receivers"),
    "receivers.create": PageCase(
        lambda _: "/receivers",
        form=lambda _: {"kind": "email", "name": "desk", "address": "anna@desk.example"},
    ),
    "receivers.confirm": PageCase(
        lambda worlds: f"/receivers/{UUID(int=worlds.a)}/confirm",
        lambda worlds: f"/receivers/{UUID(int=worlds.b)}/confirm",
        form=lambda _: {"code": "AAAAAAAA"},
    ),
    "receivers.send_code": PageCase(
        lambda worlds: f"/receivers/{UUID(int=worlds.a)}/code",
        lambda worlds: f"/receivers/{UUID(int=worlds.b)}/code",
        status=303,
    ),
    "receivers.replace_secret": PageCase(
        lambda worlds: f"/receivers/{UUID(int=worlds.a)}/secret",
        lambda worlds: f"/receivers/{UUID(int=worlds.b)}/secret",
    ),
    "receivers.resume": PageCase(
        lambda worlds: f"/receivers/{UUID(int=worlds.a)}/resume",
        lambda worlds: f"/receivers/{UUID(int=worlds.b)}/resume",
        status=303,
    ),
    "receivers.pause": PageCase(
        lambda worlds: f"/receivers/{UUID(int=worlds.a)}/pause",
        lambda worlds: f"/receivers/{UUID(int=worlds.b)}/pause",
        status=303,
    ),
    "receivers.replay": PageCase(
        lambda worlds: f"/receivers/{UUID(int=worlds.a)}/replay",
        lambda worlds: f"/receivers/{UUID(int=worlds.b)}/replay",
        status=303,
    ),
    "receivers.delete": PageCase(
        lambda worlds: f"/receivers/{UUID(int=worlds.a)}/delete",
        lambda worlds: f"/receivers/{UUID(int=worlds.b)}/delete",
        status=303,
    ),
    "receivers.create_feed": PageCase(lambda _: "/feeds", form=lambda _: {"feed": "folder:City"}),
    "receivers.revoke_feed": PageCase(
        lambda worlds: f"/feeds/{UUID(int=worlds.a)}/revoke",
        lambda worlds: f"/feeds/{UUID(int=worlds.b)}/revoke",
        status=303,
    ),
    "tags.show": PageCase(lambda _: "/tags"),
    "tags.show_posts": PageCase(lambda _: "/tags/weather"),
    "post.show": PageCase(lambda worlds: f"/post/{_post(worlds)}", lambda _: f"/post/{ONLY_B[0]}/101"),
    "media.show": PageCase(
        lambda worlds: f"/media/{_post(worlds)}/0", lambda _: f"/media/{ONLY_B[0]}/101/0", status=409
    ),
    "live.listen": PageCase(lambda _: "/live?since=wrong", status=422),
    "destinations.show": PageCase(lambda _: "/go?q=a"),
    "destinations.find": PageCase(lambda _: "/go/found?q=a"),
    "graph.show": PageCase(
        lambda worlds: f"/spread/{worlds.only_a[0]}", lambda _: f"/spread/{ONLY_B[0]}", foreign_status=200
    ),
    "channels.show": PageCase(
        lambda _: "/channels?order=posts", lambda _: "/channels?q=belongs_to_b", foreign_status=200
    ),
    "channels.export": PageCase(
        lambda _: "/channels/export/opml", lambda _: "/channels/export/txt", foreign_status=200
    ),
    "channels.change": PageCase(
        lambda _: "/channels/change",
        status=303,
        form=lambda _: {"channel": str(ONLY_B[0]), "priority": "low"},
    ),
    "channels.unfollow": PageCase(
        lambda _: "/channels/unfollow", status=303, form=lambda _: {"channel": str(ONLY_B[0])}
    ),
    "channel.show": PageCase(
        lambda worlds: f"/channels/{worlds.shared[0]}", lambda _: f"/channels/{ONLY_B[0]}"
    ),
    "record.show": PageCase(
        lambda worlds: f"/channels/{worlds.shared[0]}/record/taken",
        lambda _: f"/channels/{ONLY_B[0]}/record/taken",
    ),
    "channel.change": PageCase(
        lambda worlds: f"/channels/{worlds.shared[1]}/settings",
        lambda _: f"/channels/{ONLY_B[0]}/settings",
        status=303,
        form=lambda _: {"priority": "low", "folder": "in:City"},
    ),
    "channel.unfollow_one": PageCase(
        lambda worlds: f"/channels/{worlds.only_a[1]}/unfollow",
        lambda _: f"/channels/{ONLY_B[0]}/unfollow",
        status=303,
    ),
    "channel.read_now": PageCase(
        lambda worlds: f"/channels/{worlds.shared[0]}/read",
        lambda _: f"/channels/{ONLY_B[0]}/read",
        status=303,
    ),
    "adding.show": PageCase(lambda _: "/channels/add"),
    "adding.show_requests": PageCase(lambda _: "/channels/requests"),  # before A writes names of B's
    "adding.add": PageCase(
        lambda _: "/channels/add",
        status=303,
        form=lambda _: {"text": f"@{MARK}_0\n@nobody_knows_it\nno channel"},
    ),
    "adding.add_folder": PageCase(
        lambda _: "/channels/add/folder", status=303, form=lambda _: {"title": "News"}
    ),
    "adding.ask_for_joined": PageCase(lambda _: "/channels/joined", status=303),
    "adding.pick": PageCase(
        lambda _: "/channels/joined/follow", status=303, form=lambda _: {"channel": str(ONLY_B[0])}
    ),
    "adding.try_again": PageCase(
        lambda worlds: f"/channels/requests/{UUID(int=worlds.a)}/retry",
        lambda worlds: f"/channels/requests/{UUID(int=worlds.b)}/retry",
        status=409,
    ),
    "adding.try_all_again": PageCase(lambda _: "/channels/requests/retry", status=303),
    "members.show": PageCase(lambda _: "/members"),
    "members.invite": PageCase(lambda _: "/members/invite", form=lambda _: {"role": "viewer"}),
    "members.withdraw": PageCase(
        lambda _: f"/members/invitations/{NOBODY}/withdraw",
        lambda worlds: f"/members/invitations/{worlds.ids_of_b['invitation']}/withdraw",
        status=404,
    ),
    "members.show_one": PageCase(
        lambda _: f"/members/{NOBODY}", lambda worlds: f"/members/{worlds.ids_of_b['member']}", status=404
    ),
    "members.set_role": PageCase(
        lambda _: f"/members/{NOBODY}/role",
        lambda worlds: f"/members/{worlds.ids_of_b['member']}/role",
        status=404,
        form=lambda _: {"role": "viewer"},
    ),
    "members.remove": PageCase(
        lambda _: f"/members/{NOBODY}/remove",
        lambda worlds: f"/members/{worlds.ids_of_b['member']}/remove",
        status=404,
    ),
    "setup.show": PageCase(lambda _: "/setup"),
    "setup.show_login": PageCase(lambda _: "/setup/login?seen=", status=204),
    "setup.enter_application": PageCase(lambda _: "/setup/application", form=lambda _: {"api_id": "x"}),
    "setup.enter_proxy": PageCase(lambda _: "/setup/proxy", form=lambda _: {"kind": "socks5"}),
    "setup.forget_proxy": PageCase(lambda _: "/setup/proxy/forget", status=303),
    "setup.begin_login": PageCase(lambda _: "/setup/login", status=303, form=lambda _: {"way": "qr"}),
    "setup.answer_login": PageCase(
        lambda _: f"/setup/login/{NOBODY}/answer",
        lambda worlds: f"/setup/login/{worlds.ids_of_b['login']}/answer",
        status=404,
        form=lambda _: {"question": "1", "answer": "x"},
    ),
    "setup.give_up_login": PageCase(
        lambda _: f"/setup/login/{NOBODY}/give-up",
        lambda worlds: f"/setup/login/{worlds.ids_of_b['login']}/give-up",
        status=303,
        foreign_status=303,
    ),
    "overview.show": PageCase(lambda _: "/operations", status=404),
    "overview.refresh": PageCase(lambda _: "/operations/numbers", status=404),
    "checks.show": PageCase(lambda _: "/operations/checks", status=404),
    "dead_letters.show": PageCase(lambda _: "/operations/dead-letters", status=404),
    "dead_letters.replay": PageCase(lambda _: "/operations/dead-letters/1/replay", status=404),
    "dead_letters.discard": PageCase(lambda _: "/operations/dead-letters/1/discard", status=404),
    "tenants.show": PageCase(lambda _: "/operations/tenants", status=404),
    "tenants.create": PageCase(
        lambda _: "/operations/tenants/create", status=404, form=lambda _: {"name": "mine"}
    ),
    "tenants.suspend": PageCase(
        lambda _: f"/operations/tenants/{NOBODY}/suspend", status=404, form=lambda _: {"why": "x"}
    ),
    "tenants.resume": PageCase(lambda _: f"/operations/tenants/{NOBODY}/resume", status=404),
    "tenants.set_quota": PageCase(
        lambda _: f"/operations/tenants/{NOBODY}/quota", status=404, form=lambda _: {"gigabytes": "1"}
    ),
    "tenants.set_budget": PageCase(
        lambda _: f"/operations/tenants/{NOBODY}/budget", status=404, form=lambda _: {"money": "1"}
    ),
    "ai.show": PageCase(lambda _: "/ai?days=7"),
    "ai.choose_default": PageCase(lambda _: "/ai/default", status=303, form=lambda _: {"policy": "off"}),
    "ai.choose_policies": PageCase(
        lambda _: "/ai/policies", status=404, form=lambda _: {"policy": "off", "channel": str(ONLY_B[0])}
    ),
    "ai.consent": PageCase(lambda _: "/ai/consent", status=303),
    "ai.withdraw_consent": PageCase(lambda _: "/ai/consent/withdraw", status=303),
    "ai.set_budget": PageCase(lambda _: "/ai/budget", status=404, form=lambda _: {"money": "5"}),
    "ai.understand": PageCase(
        lambda _: "/ai/history", status=303, form=lambda _: {"days": "7", "paid": "yes"}
    ),
    "keys.show": PageCase(lambda _: "/keys"),
    "keys.create": PageCase(
        lambda _: "/keys", form=lambda _: {"name": "dashboard", "scope": "read", "days": "90"}
    ),
    "keys.revoke": PageCase(
        lambda worlds: f"/keys/{worlds.key_id}/revoke",
        lambda worlds: f"/keys/{worlds.keys_of_b[0]}/revoke",
        status=303,
    ),
    "accounts.show": PageCase(lambda _: "/accounts"),
    "accounts.pause": PageCase(
        lambda worlds: f"/accounts/{worlds.account_of_a}/pause",
        lambda worlds: f"/accounts/{worlds.account_of_b}/pause",
        status=303,
    ),
    "accounts.resume": PageCase(
        lambda worlds: f"/accounts/{worlds.account_of_a}/resume",
        lambda worlds: f"/accounts/{worlds.account_of_b}/resume",
        status=303,
    ),
    "accounts.log_out": PageCase(
        lambda worlds: f"/accounts/{worlds.account_of_a}/logout",
        lambda worlds: f"/accounts/{worlds.account_of_b}/logout",
        status=303,
    ),
    "accounts.reset": PageCase(
        lambda worlds: f"/accounts/{worlds.account_of_a}/reset",
        lambda worlds: f"/accounts/{worlds.account_of_b}/reset",
        status=422,
    ),
}
