"""The methods of the API that the simulator answers, one file per area.

Importing this room registers them all.
"""

from telegram_simulator.methods import (
    accounts,
    channels,
    comments,
    dialogs,
    files,
    folders,
    history,
    login_tokens,
    two_step,
    updates,
)
from telegram_simulator.methods.registry import METHODS, Caller, Ready, RpcError, name_of

__all__ = [
    "METHODS",
    "Caller",
    "Ready",
    "RpcError",
    "accounts",
    "channels",
    "comments",
    "dialogs",
    "files",
    "folders",
    "history",
    "login_tokens",
    "name_of",
    "two_step",
    "updates",
]
