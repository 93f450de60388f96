"""How tenant A asks each endpoint, and with whose ids it must not: one line for each operationId.

The suite asks every one of them in two worlds, with and without tenant B, and compares the answers byte by
byte.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from tests.api.worlds import FIRST, MARK, ONLY_B, PAGE, Worlds

type Named = Callable[[Worlds], Mapping[str, object]]


def nothing(_worlds: Worlds) -> Mapping[str, object]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`path` names A's own things; `foreign` names B's, and must be 404. `body` is what is sent."""

    path: Named = nothing
    foreign: Named | None = None
    query: Mapping[str, str] | None = None
    body: Any = None
    status: int = 200
    may_be_empty: bool = False
    """A has nothing to list here."""
    with_graph: bool = False


def own_channel(worlds: Worlds) -> Mapping[str, object]:
    return {"channel_id": worlds.only_a[0]}


def shared_channel(worlds: Worlds) -> Mapping[str, object]:
    return {"channel_id": worlds.shared[0]}


def channel_of_b(_worlds: Worlds) -> Mapping[str, object]:
    return {"channel_id": ONLY_B[0]}


def own_post(worlds: Worlds) -> Mapping[str, object]:
    return {"channel_id": worlds.shared[0], "message_id": FIRST + 1}


def forwarding_post(worlds: Worlds) -> Mapping[str, object]:
    return {"channel_id": worlds.shared[0], "message_id": FIRST + 2}


def own_story(worlds: Worlds) -> Mapping[str, object]:
    return {"channel_id": worlds.shared[0], "message_id": FIRST + 1}


def post_of_b(_worlds: Worlds) -> Mapping[str, object]:
    return {"channel_id": ONLY_B[0], "message_id": FIRST}


def own_request(worlds: Worlds) -> Mapping[str, object]:
    return {"request_id": UUID(int=worlds.a)}


def request_of_b(worlds: Worlds) -> Mapping[str, object]:
    return {"request_id": UUID(int=worlds.b)}


def own_account(worlds: Worlds) -> Mapping[str, object]:
    return {"account_id": worlds.account_of_a}


def account_of_b(worlds: Worlds) -> Mapping[str, object]:
    return {"account_id": worlds.account_of_b}


def own_watch(worlds: Worlds) -> Mapping[str, object]:
    return {"watch_id": UUID(int=worlds.a)}


def watch_of_b(worlds: Worlds) -> Mapping[str, object]:
    return {"watch_id": UUID(int=worlds.b)}


def own_list(worlds: Worlds) -> Mapping[str, object]:
    return {"list_id": UUID(int=worlds.a)}


def list_of_b(worlds: Worlds) -> Mapping[str, object]:
    return {"list_id": UUID(int=worlds.b)}


def own_list_item(worlds: Worlds) -> Mapping[str, object]:
    return {"list_id": UUID(int=worlds.a), "item_id": UUID(int=worlds.a)}


def list_item_of_b(worlds: Worlds) -> Mapping[str, object]:
    return {"list_id": UUID(int=worlds.b), "item_id": UUID(int=worlds.b)}


def own_receiver(worlds: Worlds) -> Mapping[str, object]:
    return {"receiver_id": UUID(int=worlds.a)}


def receiver_of_b(worlds: Worlds) -> Mapping[str, object]:
    return {"receiver_id": UUID(int=worlds.b)}


def some_tenant(_worlds: Worlds) -> Mapping[str, object]:
    return {"tenant_id": UUID(int=1)}


OPERATORS_ONLY = Case(status=403, may_be_empty=True)
"""For endpoints of the operator: A is refused whatever it asks."""

CASES: dict[str, Case] = {
    "get_me": Case(),
    "list_channels": Case(),
    "follow_channels": Case(body={"references": [f"@{MARK}_0", "@nobody_knows_it"]}, status=202),
    "list_channel_requests": Case(),
    "get_channel_request": Case(path=own_request, foreign=request_of_b),
    "retry_channel_request": Case(path=own_request, foreign=request_of_b, status=409),
    "retry_channel_requests": Case(),
    "list_joined_channels": Case(),
    "read_joined_channels": Case(status=202),
    "follow_joined_channels": Case(body={"channel_ids": [ONLY_B[0]]}, status=202),
    "get_channel": Case(path=shared_channel, foreign=channel_of_b),
    "change_channel": Case(
        path=shared_channel, foreign=channel_of_b, body={"priority": "low", "folder": None}
    ),
    "unfollow_channel": Case(path=shared_channel, foreign=channel_of_b, status=204),
    "poll_channel": Case(path=shared_channel, foreign=channel_of_b, body={"priority": "high"}, status=202),
    "get_feed": Case(),
    "list_api_keys": Case(),
    "create_api_key": Case(body={"name": "one", "scopes": ["read"]}, status=201),
    "revoke_api_key": Case(
        path=lambda worlds: {"key_id": worlds.key_id},
        foreign=lambda worlds: {"key_id": worlds.keys_of_b[0]},
        status=204,
    ),
    "get_audit_log": Case(),
    "list_members": Case(may_be_empty=True),
    "list_saved_searches": Case(may_be_empty=True),
    "get_post": Case(path=own_post, foreign=post_of_b),
    "get_post_versions": Case(path=own_post, foreign=post_of_b),
    "ask_question": Case(body={"question": "What is new about snow in the city?"}, may_be_empty=True),
    "stream_answer": Case(query={"question": "What is new about snow in the city?"}, may_be_empty=True),
    "get_ask_price": Case(may_be_empty=True),
    "search_posts": Case(query={"q": "since:2020-01-01"}),
    "list_forwards": Case(with_graph=True),
    "get_spread": Case(path=forwarding_post, foreign=post_of_b, with_graph=True),
    "list_similar_channels": Case(path=shared_channel, foreign=channel_of_b, with_graph=True),
    "list_linking_posts": Case(query={"url": PAGE}, with_graph=True),
    "list_coverage": Case(),
    "get_channel_coverage": Case(path=shared_channel, foreign=channel_of_b),
    "get_channel_activity": Case(path=shared_channel, foreign=channel_of_b),
    "get_channel_record": Case(path=shared_channel, foreign=channel_of_b),
    "list_recorded_posts": Case(
        path=lambda worlds: {**shared_channel(worlds), "fact": "taken"},
        foreign=lambda worlds: {**channel_of_b(worlds), "fact": "taken"},
    ),
    "list_interests": Case(may_be_empty=True),
    "put_interest": Case(body={"topic": "snow"}, status=204),
    "remove_interest": Case(query={"topic": "what B likes"}, status=404),
    "reset_interests": Case(status=204),
    "say_about_story": Case(path=own_story, foreign=post_of_b, body={"feedback": "more"}),
    "take_back_feedback": Case(path=own_story, foreign=post_of_b, query={"feedback": "muted"}, status=404),
    "list_story_marks": Case(may_be_empty=True),
    "mark_story": Case(path=own_story, foreign=post_of_b, body={"mark": "followed"}, status=204),
    "unmark_story": Case(path=own_story, foreign=post_of_b, query={"mark": "saved"}, status=404),
    "get_digest_plan": Case(),
    "set_digest_plan": Case(body={"times": ["08:00"], "receivers": []}),
    "get_digest": Case(query={"since": "2026-11-10T00:00:00Z"}),
    "list_trends": Case(may_be_empty=True),
    "list_changes": Case(),
    "list_caught_changes": Case(),
    "export_caught_changes": Case(query={"format": "json"}),
    "get_today": Case(),
    "list_stories": Case(query={"since": "2026-01-01T00:00:00Z"}),
    "get_story": Case(path=own_story, foreign=post_of_b),
    "export_story": Case(path=own_story, foreign=post_of_b, query={"format": "json"}),
    "export_post": Case(path=own_post, foreign=post_of_b, query={"format": "csv"}),
    "export_digest": Case(
        path=lambda _: {"digest_id": UUID(int=1)},
        foreign=lambda worlds: {"digest_id": UUID(int=worlds.b)},
        status=404,
    ),
    "list_public_links": Case(may_be_empty=True),
    "create_public_link": Case(
        body={"kind": "digest", "subject": str(UUID(int=1)), "days": 7},
        status=404,
    ),
    "revoke_public_link": Case(
        path=lambda _: {"link_id": UUID(int=1)},
        foreign=lambda worlds: {"link_id": UUID(int=worlds.b)},
        status=404,
    ),
    "get_summary_price": Case(path=own_story, foreign=post_of_b, may_be_empty=True),
    "write_story_summary": Case(path=own_story, foreign=post_of_b, may_be_empty=True),
    "take_post_out": Case(path=own_story, foreign=post_of_b, status=204),
    "put_post_back": Case(path=own_story, foreign=post_of_b, status=404),
    "choose_story_grouping": Case(body={"grouping": "strict"}),
    "list_lists": Case(),
    "create_list": Case(body={"name": "snow"}, status=201),
    "get_list": Case(path=own_list, foreign=list_of_b),
    "rename_list": Case(path=own_list, foreign=list_of_b, body={"name": "rain"}),
    "add_list_item": Case(
        path=own_list, foreign=list_of_b, body={"channel_id": ONLY_B[0], "message_id": FIRST}, status=404
    ),
    "change_list_item": Case(
        path=own_list_item, foreign=list_item_of_b, body={"note": "ask them", "position": 1}, status=204
    ),
    "remove_list_item": Case(path=own_list_item, foreign=list_item_of_b, status=204),
    "restore_list_item": Case(path=own_list_item, foreign=list_item_of_b, status=204),
    "delete_list": Case(path=own_list, foreign=list_of_b, status=204),
    "list_watches": Case(),
    "create_watch": Case(body={"name": "snow", "query": "снег"}, status=201),
    "preview_watch": Case(query={"kind": "changes"}),
    "get_watch": Case(path=own_watch, foreign=watch_of_b),
    "change_watch": Case(path=own_watch, foreign=watch_of_b, body={"name": "rain", "kind": "changes"}),
    "pause_watch": Case(path=own_watch, foreign=watch_of_b),
    "resume_watch": Case(path=own_watch, foreign=watch_of_b),
    "delete_watch": Case(path=own_watch, foreign=watch_of_b, status=204),
    "list_alerts": Case(),
    "see_alerts_of_tenant": Case(body={}),
    "list_receivers": Case(),
    "create_webhook": Case(body={"name": "desk", "url": "https://desk.example/alerts"}, status=201),
    "create_email": Case(body={"name": "desk", "address": "anna@desk.example"}, status=201),
    "confirm_receiver": Case(path=own_receiver, foreign=receiver_of_b, body={"code": "AAAAAAAA"}, status=422),
    "send_receiver_code": Case(path=own_receiver, foreign=receiver_of_b, status=202),
    "replace_webhook_secret": Case(path=own_receiver, foreign=receiver_of_b),
    "pause_receiver": Case(path=own_receiver, foreign=receiver_of_b),
    "resume_receiver": Case(path=own_receiver, foreign=receiver_of_b),
    "replay_receiver": Case(
        path=own_receiver, foreign=receiver_of_b, body={"since": "2026-01-01T00:00:00Z"}, status=202
    ),
    "delete_receiver": Case(path=own_receiver, foreign=receiver_of_b, status=204),
    "list_feed_addresses": Case(),
    "create_feed_address": Case(body={"kind": "folder", "subject": "City"}, status=201),
    "revoke_feed_address": Case(
        path=lambda worlds: {"address_id": UUID(int=worlds.a)},
        foreign=lambda worlds: {"address_id": UUID(int=worlds.b)},
        status=204,
    ),
    "list_tags": Case(),
    "list_most_used_tags": Case(),
    "choose_tag_name": Case(
        path=lambda _: {"tag": "спорт"}, foreign=lambda _: {"tag": MARK}, body={"hidden": True}
    ),
    "list_posts_by_tag": Case(path=lambda _: {"tag": "спорт"}, foreign=lambda _: {"tag": MARK}),
    "list_accounts": Case(),
    "get_account": Case(path=own_account, foreign=account_of_b),
    "pause_own_account": Case(path=own_account, foreign=account_of_b),
    "resume_own_account": Case(path=own_account, foreign=account_of_b),
    "log_out_own_account": Case(path=own_account, foreign=account_of_b),
    "reset_own_account": Case(path=own_account, foreign=account_of_b, status=422),
    "list_parked_channels": Case(),
    "release_parked_channel": Case(path=shared_channel, foreign=channel_of_b, status=202),
    "list_processes": OPERATORS_ONLY,
    "list_stages": OPERATORS_ONLY,
    "show_resources": OPERATORS_ONLY,
    "list_dead_letters": OPERATORS_ONLY,
    "get_dead_letter": replace(OPERATORS_ONLY, path=lambda _: {"number": 1}),
    "replay_dead_letter": replace(OPERATORS_ONLY, path=lambda _: {"number": 1}),
    "discard_dead_letter": replace(OPERATORS_ONLY, path=lambda _: {"number": 1}),
    "get_understanding": Case(),
    "choose_default_policy": Case(body={"policy": "off"}),
    "list_policies": Case(),
    "choose_policies": Case(body={"channel_ids": [ONLY_B[0]], "policy": "off"}, status=404),
    "give_consent": Case(),
    "withdraw_consent": Case(status=204),
    "get_history_price": Case(query={"days": "7"}),
    "understand_own_history": Case(body={"days": 7}, status=202),
    "get_usage": Case(),
    "get_budget": Case(),
    "list_tenants": OPERATORS_ONLY,
    "create_tenant": replace(OPERATORS_ONLY, body={"name": "mine"}),
    "list_all_accounts": OPERATORS_ONLY,
    "get_tenant": replace(OPERATORS_ONLY, path=some_tenant),
    "suspend_tenant": replace(OPERATORS_ONLY, path=some_tenant, body={"reason": "rivalry"}),
    "resume_tenant": replace(OPERATORS_ONLY, path=some_tenant),
    "set_media_quota": replace(OPERATORS_ONLY, path=some_tenant, body={"max_bytes": 1}),
    "set_tenant_budget": replace(OPERATORS_ONLY, path=some_tenant, body={"micro": 1}),
}
