"""The members of a tenant, its invitations, and what was changed."""

from uuid import UUID

from starlette.responses import Response

from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.errors import Rejected
from telegram_assistant.features.people import members
from telegram_assistant.features.tenants.audit import newest_changes
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.redis.rate_limits import RateLimits
from telegram_assistant.web.views import Content, TenantView, go, uuid_of

SHOWN_CHANGES = 30


async def show(view: TenantView) -> Content:
    return await _content(view)


async def invite(view: TenantView) -> Content:
    role = _role(view)
    token = await members.invite(role, members=view.stores.members, session=view.token)
    view.note(role=role.value)
    base = view.app.settings.web.base_url or str(view.request.base_url).rstrip("/")
    return {**await _content(view), "invitation_link": f"{base}/link/{token}"}


async def withdraw(view: TenantView) -> Response:
    await members.withdraw_invitation(
        uuid_of(view.request.path_params["invitation"]), members=view.stores.members
    )
    return go(view.url("/members"))


async def show_one(view: TenantView) -> Content:
    """A member, and what stops working when they become less, or are removed."""
    details = await members.find_member(_member(view), members=view.stores.members)
    return {
        "member": details.member,
        "things": {kind.value: things for kind, things in details.things.items()},
        "is_self": details.member.public_id == view.person.public_id,
        "roles": tuple(MemberRole),
    }


async def set_role(view: TenantView) -> Response:
    role, member_id = _role(view), _member(view)
    details = await members.find_member(member_id, members=view.stores.members)
    drop_cached_keys = RateLimits(view.app.redis).drop_cached_keys
    await members.set_role(
        member_id, role, members=view.stores.members, session=view.token, drop_cached_keys=drop_cached_keys
    )
    view.note(name=details.member.name, role=role.value, role_before=details.member.role.value)
    return go(view.url("/members?done=role"))


async def remove(view: TenantView) -> Response:
    member_id, keep_feeds, keep_receivers = (
        _member(view),
        bool(view.text("keep_feeds")),
        bool(view.text("keep_receivers")),
    )
    details = await members.find_member(member_id, members=view.stores.members)
    await members.remove_member(
        member_id,
        members=view.stores.members,
        session=view.token,
        drop_cached_keys=RateLimits(view.app.redis).drop_cached_keys,
        keep_feeds=keep_feeds,
        keep_receivers=keep_receivers,
    )
    counts = {kind.value: len(things) for kind, things in details.things.items() if things}
    view.note(
        name=details.member.name,
        role_before=details.member.role.value,
        things=counts,
        keep_feeds=keep_feeds,
        keep_receivers=keep_receivers,
    )
    return go("/" if details.member.public_id == view.person.public_id else view.url("/members?done=removed"))


async def _content(view: TenantView) -> Content:
    return {
        "members": await members.list_members(members=view.stores.members),
        "invitations": await members.list_invitations(members=view.stores.members),
        "changes": (await newest_changes(audit=view.stores.audit, limit=SHOWN_CHANGES)).entries,
        "roles": tuple(MemberRole),
        "invitation_link": None,
        "done": view.query("done"),
    }


def _member(view: TenantView) -> UUID:
    return uuid_of(view.request.path_params["member"])


def _role(view: TenantView) -> MemberRole:
    try:
        return MemberRole(view.text("role"))
    except ValueError as error:
        raise Rejected(Reason("role_unknown", "choose one of the roles that the page offers")) from error
