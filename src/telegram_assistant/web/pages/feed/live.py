"""The stream of counts for an open page."""

from functools import partial

from starlette.responses import Response

from telegram_assistant.features.feed.person_feed import count_new_posts
from telegram_assistant.features.feed.tenant_feed import news_state
from telegram_assistant.features.people.people import find_session
from telegram_assistant.stores.postgres.feed.person_feed import MAX_NEW, ReadingScope
from telegram_assistant.translation import translator
from telegram_assistant.web.live import LiveHub, live_counts, stream
from telegram_assistant.web.rendering import DOMAIN
from telegram_assistant.web.views import TenantView, moment_of


async def listen(hub: LiveHub, view: TenantView) -> Response:
    since, scope = moment_of(view.query("since")), ReadingScope(folder=view.query("folder") or None)

    async def count() -> str:
        number = await count_new_posts(scope, since=since, own=view.own)
        return _sentence(number, view)

    async def is_valid() -> bool:
        session = await find_session(view.token, people=view.app.api.people)
        return session is not None and view.membership.tenant in {
            membership.tenant for membership in session.memberships
        }

    ask_state = partial(_state, view)
    tenant_id, user_id = view.membership.tenant_id, view.person.user_id
    return stream(live_counts(hub, tenant_id, user_id, ask_state=ask_state, count=count, is_valid=is_valid))


async def _state(view: TenantView) -> int:
    return await news_state(news=view.stores.news)


def _sentence(new_count: int, view: TenantView) -> str:
    if not new_count:
        return ""
    words = translator(view.language.value, DOMAIN)
    if new_count >= MAX_NEW:
        return words.gettext("more than %(number)s new posts") % {"number": MAX_NEW}
    return words.ngettext("%(number)s new post", "%(number)s new posts", new_count) % {"number": new_count}
