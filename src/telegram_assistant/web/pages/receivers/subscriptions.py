"""Pages that the links in mails open, without a login: confirm an address, unsubscribe it, subscribe it
again.

Opening a page changes nothing, because programs open links before people do. Mail programs that unsubscribe
with one click send the form of that page by themselves (RFC 8058).
"""

from telegram_assistant.features.receivers import subscriptions
from telegram_assistant.web.views import Content, View


async def show_confirm(view: View) -> Content:
    subscriptions.read_confirm_link(_token(view), sealer=view.app.sealer, now=view.now)
    return _content(view, "confirm")


async def confirm(view: View) -> Content:
    linked_receiver = subscriptions.read_confirm_link(_token(view), sealer=view.app.sealer, now=view.now)
    await subscriptions.confirm(linked_receiver, tenant=view.app.tenant)
    return _content(view, "confirmed")


async def show_unsubscribe(view: View) -> Content:
    subscriptions.read_unsubscribe_link(_token(view), sealer=view.app.sealer)
    return _content(view, "unsubscribe")


async def unsubscribe(view: View) -> Content:
    linked_receiver = subscriptions.read_unsubscribe_link(_token(view), sealer=view.app.sealer)
    await subscriptions.unsubscribe(linked_receiver, tenant=view.app.tenant)
    return _content(view, "unsubscribed")


async def subscribe_again(view: View) -> Content:
    linked_receiver = subscriptions.read_unsubscribe_link(_token(view), sealer=view.app.sealer)
    await subscriptions.subscribe_again(linked_receiver, tenant=view.app.tenant)
    return _content(view, "confirmed")


def _token(view: View) -> str:
    token: str = view.request.path_params["token"]
    return token


def _content(view: View, state: str) -> Content:
    return {"state": state, "token": _token(view)}
