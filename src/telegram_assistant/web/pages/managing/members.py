"""The members of a tenant, its invitations, and what was changed."""

from starlette.responses import Response

from telegram_assistant.domain.tenants.access import MemberRole
from telegram_assistant.errors import Rejected
from telegram_assistant.features import members
from telegram_assistant.features.audit import newest_changes
from telegram_assistant.reasons import Reason
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
    await members.withdraw_invitation(uuid_of(view.request.path_params["invitation"]), members=view.stores.members)
    return go(view.url("/members"))


async def set_role(view: TenantView) -> Response:
    role = _role(view)
    await members.set_role(uuid_of(view.request.path_params["member"]), role, members=view.stores.members)
    view.note(role=role.value)
    return go(view.url("/members"))


async def remove(view: TenantView) -> Response:
    await members.remove_member(uuid_of(view.request.path_params["member"]), members=view.stores.members)
    return go(view.url("/members"))


async def _content(view: TenantView) -> Content:
    return {
        "members": await view.stores.members.all(),
        "invitations": await view.stores.members.invitations(),
        "changes": (await newest_changes(audit=view.stores.audit, limit=SHOWN_CHANGES)).entries,
        "roles": tuple(MemberRole),
        "invitation_link": None,
    }


def _role(view: TenantView) -> MemberRole:
    try:
        return MemberRole(view.text("role"))
    except ValueError as error:
        raise Rejected(Reason("role_unknown", "choose one of the roles that the page offers")) from error
