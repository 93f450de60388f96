"""A person's own page: their tenants, preferences, password and sessions."""

from starlette.responses import Response

from telegram_assistant.domain.people.person import (
    MIN_PASSWORD_LETTERS,
    FeedOrder,
    Language,
    Preferences,
    Theme,
)
from telegram_assistant.errors import Busy, Rejected
from telegram_assistant.features.people import people
from telegram_assistant.features.stories.stories import has_stories
from telegram_assistant.reasons import Reason
from telegram_assistant.settings import check_zone
from telegram_assistant.web.access.login_limits import limit_password_changes, with_error
from telegram_assistant.web.page import Page, PageInTenant
from telegram_assistant.web.views import Content, PersonView, TenantView, go, uuid_of


async def home(today: Page[TenantView], feed: Page[TenantView], view: PersonView) -> Content | PageInTenant:
    """Shows the stories, or the feed where there are none, without a redirect that costs a phone a fifth of a
    second.

    A person with several tenants chooses one.
    """
    if len(view.memberships) == 1:
        only_membership = view.memberships[0]
        stories_exist = await has_stories(stories=view.app.tenant(only_membership.tenant_id).stories)
        return PageInTenant(today if stories_exist else feed, only_membership.tenant)
    return {"memberships": view.memberships}


async def show(view: PersonView) -> Content:
    return await _content(view)


async def set_preferences(view: PersonView) -> Content | Response:
    try:
        preferences = Preferences(
            language=Language(view.text("language")) if view.text("language") else None,
            zone=check_zone(view.text("zone")) if view.text("zone") else None,
            theme=Theme(view.text("theme")),
            feed_order=FeedOrder(view.text("feed_order")),
        )
    except ValueError as error:
        raise Rejected(Reason("choice_unknown", "choose one of the values that the page offers")) from error
    await people.set_preferences(preferences, token=view.token, people=view.app.api.people)
    return go("/me?saved=preferences")


async def change_password(view: PersonView) -> Content | Response:
    try:
        await limit_password_changes(view)
        await people.change_password(
            view.person,
            view.text("old"),
            view.text("new"),
            token=view.token,
            people=view.app.api.people,
            passwords=view.passwords,
        )
    except (Rejected, Busy) as error:
        return with_error(await _content(view), error)
    return go("/me?saved=password")


async def end_session(view: PersonView) -> Content | Response:
    await people.end_session(
        uuid_of(view.request.path_params["session"]), token=view.token, people=view.app.api.people
    )
    return go("/me?saved=session")


async def end_other_sessions(view: PersonView) -> Content | Response:
    await people.end_other_sessions(token=view.token, people=view.app.api.people)
    return go("/me?saved=session")


async def _content(view: PersonView) -> Content:
    return {
        "sessions": await people.list_sessions(token=view.token, people=view.app.api.people),
        "session_id": view.session_id,
        "memberships": view.memberships,
        "zone": str(view.zone),
        "saved": view.query("saved"),
        "min_letters": MIN_PASSWORD_LETTERS,
    }
