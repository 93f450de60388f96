"""Logging in by a QR code: one client shows a token, another that is logged in accepts it,
and the first one asks again.
"""

import secrets
from typing import Any

from telethon.tl import functions, types

from telegram_simulator.methods.registry import Caller, RpcError, Server, answers
from telegram_simulator.tl.objects import moment_of, user_object
from telegram_simulator.world.account import Account, LoginToken

TOKEN_BYTES = 32
MAX_TOKENS = 1000


@answers(functions.auth.ExportLoginTokenRequest, is_anonymous=True)
def export_login_token(request: Any, caller: Caller) -> bytes:
    """A token to show; or, once the last one was accepted, what has come of it."""
    tokens, now = caller.server.login_tokens, caller.server.now()
    own_token = next(
        ((name, token) for name, token in reversed(tokens.items()) if token.key_id == caller.record.key_id),
        None,
    )
    if (
        own_token is not None
        and own_token[1].accepted_by is not None
        and not own_token[1].used
        and own_token[1].expires > now
    ):
        return _log_in(*own_token, caller)
    new_token = LoginToken(
        caller.record.key_id, now + caller.server.login_token_seconds, frozenset(request.except_ids)
    )
    name = secrets.token_bytes(TOKEN_BYTES)
    tokens[name] = new_token
    for old_token in list(tokens)[:-MAX_TOKENS]:
        del tokens[old_token]
    return bytes(types.auth.LoginToken(moment_of(new_token.expires), name))


@answers(functions.auth.ImportLoginTokenRequest, is_anonymous=True)
def import_login_token(request: Any, caller: Caller) -> bytes:
    """For who was sent to another data centre with an accepted token."""
    token = caller.server.login_tokens.get(request.token)
    if token is None or token.accepted_by is None:
        raise RpcError(400, "AUTH_TOKEN_INVALID")
    if token.used:
        raise RpcError(400, "AUTH_TOKEN_ALREADY_ACCEPTED")
    if token.expires <= caller.server.now():
        raise RpcError(400, "AUTH_TOKEN_EXPIRED")
    return _log_in(request.token, token, caller)


@answers(functions.auth.AcceptLoginTokenRequest)
def accept_login_token(request: Any, caller: Caller) -> bytes:
    accept(caller.server, request.token, caller.account)
    now = moment_of(caller.server.now())
    authorization = types.Authorization(
        hash=secrets.randbits(62),
        device_model="somewhere else",
        platform="",
        system_version="",
        api_id=1,
        app_name="",
        app_version="",
        date_created=now,
        date_active=now,
        ip=caller.server.host,
        country="",
        region="",
        password_pending=caller.account.password is not None or None,
    )
    return bytes(authorization)


def accept(server: Server, name: bytes, account: Account) -> None:
    """Let whoever shows the token in; it is told to ask again."""
    token = server.login_tokens.get(name)
    if token is None:
        raise RpcError(400, "AUTH_TOKEN_INVALIDX")
    if token.accepted_by is not None:
        raise RpcError(400, "AUTH_TOKEN_ALREADY_ACCEPTED")
    if token.expires <= server.now():
        raise RpcError(400, "AUTH_TOKEN_EXPIRED")
    if account.user_id in token.not_for:
        raise RpcError(400, "AUTH_TOKEN_EXCEPTION")
    token.accepted_by = account.phone
    server.push_update(types.UpdateLoginToken(), lambda record: record.key_id == token.key_id)


def _log_in(name: bytes, token: LoginToken, caller: Caller) -> bytes:
    assert token.accepted_by is not None  # both callers have looked
    account = caller.world.account(token.accepted_by)
    if account.home_dc != caller.dc_id:
        return bytes(types.auth.LoginTokenMigrateTo(account.home_dc, name))
    token.used = True
    if account.password is not None:
        caller.record.awaits_password = account.phone
        raise RpcError(401, "SESSION_PASSWORD_NEEDED")
    caller.server.keys.log_in(caller.record, account.phone)
    return bytes(
        types.auth.LoginTokenSuccess(types.auth.Authorization(user=user_object(account, is_self=True)))
    )
