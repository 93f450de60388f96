"""Options of commands that follow channels."""

from typing import Annotated

import typer

from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.understanding.policy import AiPolicy
from telegram_assistant.stores.postgres.channels.channels import EVERYTHING_DAYS, NOT_KNOWN_YET, Subscription

TenantName = Annotated[str, typer.Option("--tenant", help="Tenant that follows the channels.")]
Folder = Annotated[str | None, typer.Option(help="Folder to put the channels into.")]
Prio = Annotated[
    Priority | None, typer.Option(help="How soon new posts are read. Default for a new channel: normal.")
]
Ai = Annotated[
    AiPolicy | None,
    typer.Option(
        help="What may analyse the posts. Default: the policy for new channels (see `tga ai policy`)."
    ),
]
History = Annotated[
    str | None, typer.Option(help='Days of history to read, or "all". Default for a new channel: 7.')
]
Wait = Annotated[
    int, typer.Option(help="Seconds to wait until an account has found the channels; 0: do not wait.", min=0)
]


def subscription_from(
    folder: str | None, priority: Priority | None, ai: AiPolicy | None, history: str | None
) -> Subscription:
    """Returns the subscription that the options describe.

    A followed channel keeps the settings that are not given.
    """
    if history not in {None, "all"} and not history.isdecimal():
        raise typer.BadParameter('a number of days, or "all"', param_hint="--history")
    days = None if history is None else EVERYTHING_DAYS if history == "all" else int(history)
    return Subscription(
        channel_id=NOT_KNOWN_YET, folder=folder, priority=priority, ai_policy=ai, history_days=days
    )
