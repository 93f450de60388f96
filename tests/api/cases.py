"""How tenant A asks each endpoint, and with whose ids it must not: one line for each operationId.

The suite asks every one of them in two worlds, with and without tenant B, and compares the answers byte by byte.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.api.worlds import MARK, ONLY_B, Worlds

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


def own_channel(worlds: Worlds) -> Mapping[str, object]:
    return {"channel_id": worlds.only_a[0]}


def shared_channel(worlds: Worlds) -> Mapping[str, object]:
    return {"channel_id": worlds.shared[0]}


def channel_of_b(_worlds: Worlds) -> Mapping[str, object]:
    return {"channel_id": ONLY_B[0]}


OPERATORS_ONLY = Case(status=403, may_be_empty=True)
"""For endpoints of the operator: A is refused whatever it asks."""

CASES: dict[str, Case] = {
    "get_me": Case(),
    "list_channels": Case(),
    "follow_channels": Case(body={"references": [f"@{MARK}_0", "@nobody_knows_it"]}, status=202),
    "get_channel": Case(path=shared_channel, foreign=channel_of_b),
    "change_channel": Case(path=shared_channel, foreign=channel_of_b, body={"priority": "low", "folder": None}),
    "unfollow_channel": Case(path=shared_channel, foreign=channel_of_b, status=204),
    "poll_channel": Case(path=shared_channel, foreign=channel_of_b, body={"priority": "high"}, status=202),
    "get_feed": Case(),
    "list_api_keys": Case(),
    "create_api_key": Case(body={"name": "one", "scopes": ["read"]}, status=201),
    "revoke_api_key": Case(path=lambda worlds: {"key_id": worlds.key_id}, foreign=lambda worlds: {"key_id": worlds.keys_of_b[0]}, status=204),
    "get_audit_log": Case(),
}
