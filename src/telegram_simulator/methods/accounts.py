"""Logging in and out, and who one is."""

import secrets
from typing import Any

from telethon.tl import functions, types

from telegram_simulator.methods.registry import Caller, RpcError, answers
from telegram_simulator.mtproto.packets import BOOL_TRUE, vector_of
from telegram_simulator.tl.objects import moment_of, user_object
from telegram_simulator.world.account import BANNED

LOGIN_CODE = "12345"

UNUSED_LIMITS = (
    *(
        "chat_size_max",
        "megagroup_size_max",
        "forwarded_count_max",
        "online_update_period_ms",
        "offline_blur_timeout_ms",
    ),
    *(
        "offline_idle_timeout_ms",
        "online_cloud_timeout_ms",
        "notify_cloud_delay_ms",
        "notify_default_delay_ms",
        "push_chat_period_ms",
    ),
    *(
        "push_chat_limit",
        "edit_time_limit",
        "revoke_time_limit",
        "revoke_pm_time_limit",
        "rating_e_decay",
        "stickers_recent_limit",
    ),
    *(
        "channels_read_media_period",
        "call_receive_timeout_ms",
        "call_ring_timeout_ms",
        "call_connect_timeout_ms",
    ),
    *("call_packet_timeout_ms", "caption_length_max", "message_length_max"),
)
"""Fields of the configuration that the schema demands and no client here reads."""


@answers(functions.help.GetConfigRequest, is_anonymous=True)
def get_config(_request: Any, caller: Caller) -> bytes:
    now = caller.server.now()
    options = [
        types.DcOption(dc_id, ip_address=caller.server.host, port=port)
        for dc_id, port in caller.server.ports.items()
    ]
    limits = dict.fromkeys(UNUSED_LIMITS, 1000)
    return bytes(
        types.Config(
            date=moment_of(now),
            expires=moment_of(now + 3600),
            test_mode=False,
            this_dc=caller.dc_id,
            dc_options=options,
            dc_txt_domain_name="",
            me_url_prefix="https://t.me/",
            webfile_dc_id=caller.dc_id,
            **limits,
        )
    )


@answers(functions.help.GetNearestDcRequest, is_anonymous=True)
def get_nearest_dc(_request: Any, caller: Caller) -> bytes:
    return bytes(types.NearestDc("RU", caller.dc_id, caller.dc_id))


@answers(functions.auth.SendCodeRequest, is_anonymous=True)
def send_code(request: Any, caller: Caller) -> bytes:
    phone = request.phone_number.lstrip("+")
    if not phone.isdecimal():
        raise RpcError(400, "PHONE_NUMBER_INVALID")
    account = caller.world.account(phone)
    if account.trouble == BANNED:
        raise RpcError(400, "PHONE_NUMBER_BANNED")
    if account.home_dc != caller.dc_id:
        raise RpcError(303, f"PHONE_MIGRATE_{account.home_dc}")
    account.code_hash = secrets.token_hex(8)
    return bytes(
        types.auth.SentCode(
            type=types.auth.SentCodeTypeApp(len(LOGIN_CODE)), phone_code_hash=account.code_hash
        )
    )


@answers(functions.auth.SignInRequest, is_anonymous=True)
def sign_in(request: Any, caller: Caller) -> bytes:
    account = caller.world.account(request.phone_number.lstrip("+"))
    if account.code_hash is None or request.phone_code_hash != account.code_hash:
        raise RpcError(400, "PHONE_CODE_EXPIRED")
    if request.phone_code != LOGIN_CODE:
        raise RpcError(400, "PHONE_CODE_INVALID")
    account.code_hash = None
    if account.password is not None:
        caller.record.awaits_password = account.phone
        raise RpcError(401, "SESSION_PASSWORD_NEEDED")
    caller.server.keys.log_in(caller.record, account.phone)
    return bytes(types.auth.Authorization(user=user_object(account, is_self=True)))


@answers(functions.auth.ImportBotAuthorizationRequest, is_anonymous=True)
def import_bot_authorization(request: Any, caller: Caller) -> bytes:
    number, _, secret = request.bot_auth_token.partition(":")
    if not (number.isdecimal() and int(number) < 2**52 and secret):
        raise RpcError(400, "ACCESS_TOKEN_INVALID")
    bot = caller.world.bot(int(number), request.bot_auth_token)
    if bot.bot_token != request.bot_auth_token:
        raise RpcError(400, "ACCESS_TOKEN_EXPIRED")
    caller.server.keys.log_in(caller.record, bot.phone)
    return bytes(types.auth.Authorization(user=user_object(bot, is_self=True)))


@answers(functions.auth.LogOutRequest)
def log_out(_request: Any, caller: Caller) -> bytes:
    caller.record.phone = None
    return bytes(types.auth.LoggedOut())


@answers(functions.auth.ExportAuthorizationRequest)
def export_authorization(_request: Any, caller: Caller) -> bytes:
    token = secrets.token_bytes(32)
    caller.server.exported[token] = caller.account.phone
    return bytes(types.auth.ExportedAuthorization(caller.account.user_id, token))


@answers(functions.auth.ImportAuthorizationRequest, is_anonymous=True)
def import_authorization(request: Any, caller: Caller) -> bytes:
    phone = caller.server.exported.pop(request.bytes, None)
    if phone is None or caller.world.account(phone).user_id != request.id:
        raise RpcError(400, "AUTH_BYTES_INVALID")
    caller.server.keys.log_in(caller.record, phone)
    return bytes(types.auth.Authorization(user=user_object(caller.account, is_self=True)))


@answers(functions.users.GetUsersRequest)
def get_users(request: Any, caller: Caller) -> bytes:
    users: list[Any] = []
    for input_user in request.id[:200]:
        if isinstance(input_user, types.InputUserSelf):
            users.append(user_object(caller.account, is_self=True))
        else:
            users.append(types.UserEmpty(getattr(input_user, "user_id", 0)))
    return vector_of(users)


@answers(functions.account.UpdateStatusRequest)
def update_status(_request: Any, _caller: Caller) -> bytes:
    return BOOL_TRUE
