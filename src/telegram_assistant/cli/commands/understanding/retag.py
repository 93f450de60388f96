"""`tga retag`: tags stored posts again with the current vocabulary, model and prompt."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated

import typer
from rich.progress import track
from rich.table import Table

from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_operation
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import complaints, console
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.spending import MILLION
from telegram_assistant.features.understanding.history import (
    find_outdated_posts,
    price_outdated_posts,
    tag_channel_again,
)
from telegram_assistant.stores.postgres.posts.replays import Outdated


def retag(
    channel: Annotated[int | None, typer.Option(help="Only this channel, by its id.")] = None,
    days: Annotated[int, typer.Option(min=1, max=36600, help="How many days back to look.")] = 7,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="Also let a provider tag posts that it has not tagged, within the budgets. "
            "This costs money.",
        ),
    ] = False,
) -> None:
    """Tag stored posts again; new posts go first.

    Posts with tags of the current version are skipped, so the command can be repeated.
    """

    async def work(assembled: App) -> None:
        replays, since = assembled.system.replays, datetime.now(UTC) - timedelta(days=days)
        outdated_posts = await find_outdated_posts(
            replays=replays, since=since, channel_id=None if channel is None else ChannelId(channel)
        )
        if not outdated_posts:
            console.print(f"All posts of the last {days} days have tags of the current version.")
            return
        await _show(assembled, outdated_posts)
        requeued_count, paid_posts = 0, 0
        for outdated_channel in track(
            outdated_posts, description="channels", console=complaints, transient=True
        ):
            order = await tag_channel_again(
                outdated_channel.channel_id, replays=replays, since=since, is_paid=yes
            )
            requeued_count += order.local
            paid_posts += order.by_provider
        await record_operation(
            assembled,
            "retag",
            "/posts",
            days=days,
            channel_id=channel,
            posts=requeued_count,
            paid_posts=paid_posts,
        )
        console.print(
            f"{requeued_count:,} posts go through the pipeline again, after all new posts; "
            "`tga streams` shows the progress."
        )
        if yes:
            console.print(
                f"{paid_posts:,} posts wait for a provider, the newest first; "
                "`tga ai status` shows how many are left."
            )
        elif any(outdated_channel.provider for outdated_channel in outdated_posts):
            console.print(
                "No paid calls are made. To let a provider tag them, run the same command with --yes"
            )

    with_app(work)


async def _show(app: App, outdated_posts: tuple[Outdated, ...]) -> None:
    """Prints the number of posts and the maximum cost."""
    price = await price_outdated_posts(
        outdated_posts, vocabularies=app.system.vocabularies, settings=app.settings
    )
    table = Table("channel", "posts", "by a provider", f"at most, {price.unit}", pad_edge=False)
    for channel in price.channels:
        outdated_channel, cost = (
            channel.outdated,
            "–" if channel.micro is None else f"{Decimal(channel.micro) / MILLION:,.2f}",
        )
        table.add_row(
            f"{outdated_channel.title} ({outdated_channel.channel_id})",
            f"{outdated_channel.local:,}",
            f"{outdated_channel.provider:,}",
            cost,
        )
    console.print(table)
