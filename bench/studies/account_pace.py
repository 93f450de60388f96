"""One account that reads its channels one after the other, under its real budget: how many polls a second, at
which latency of Telegram.

An account may ask for history 0.8 times a second and has one request under way, so runs that overlap could
gain only where a run takes longer than the budget makes it wait: `limit_per_s` is what any number of
overlapping runs could reach.
"""

import asyncio
import time
from contextlib import AsyncExitStack

import asyncpg
from pydantic import SecretStr

from bench.studies.ingest import open_seat, prepare
from telegram_assistant.assembly import assemble
from telegram_assistant.domain.accounts.budget import HISTORY
from telegram_assistant.settings import TelegramSettings
from telegram_assistant.telegram.account_client import Clock
from telegram_simulator.world.load import FIRST_CHANNEL
from testkit.harness import arguments, own_database, report
from testkit.simulators import simulator

CHANNELS, WITH_NEWS = 16, 2
LATENCIES = (0.0, 0.3, 0.9, 1.2, 2.0)


async def polls_per_second(turns: int, latency: float) -> dict[str, float]:
    with (
        simulator("load", "--channels", str(CHANNELS), "--posts", "120") as running,
        running.control() as control,
    ):
        async with own_database("tga_bench_pace") as settings, AsyncExitStack() as stack:
            telegram = TelegramSettings(api_id=1, api_hash=SecretStr("x"))
            app = await stack.enter_async_context(
                assemble(settings.model_copy(update={"telegram": telegram}))
            )
            admin = await asyncpg.connect(
                (settings.database.admin_url or settings.database.url).get_secret_value()
            )
            tenant = await app.system.tenants.ensure("bench", is_operator=True)
            channels = [FIRST_CHANNEL + number for number in range(CHANNELS)]
            seat = await open_seat(
                stack, app, control, tenant.tenant_id, "79990000001", channels, clock=Clock()
            )
            for channel_id in channels:
                await prepare(app, seat, tenant.tenant_id, channel_id)
            control.ask("POST", "/trouble", latency_seconds=latency)
            began = time.perf_counter()
            for turn in range(turns):
                for channel_id in channels[:WITH_NEWS]:
                    await asyncio.to_thread(control.post, channel_id, f"новость {turn}", deliver=False)
                await admin.execute("UPDATE poll_schedule SET next_poll_at = now()")
                await seat.reading.turn()
            took = time.perf_counter() - began
            await admin.close()
    budget = HISTORY.limits[0].per_second
    return {
        "latency_s": latency,
        "polls_per_s": round(turns * CHANNELS / took, 3),
        "limit_per_s": round(min(budget, 1 / latency) if latency else budget, 3),
    }


async def run(turns: int) -> dict[str, object]:
    measured = [await polls_per_second(turns, latency) for latency in LATENCIES]
    return {"bench": "account_pace", "turns": turns, "channels": CHANNELS, "measured": measured}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=3, help="of 16 polls each")
    options = parser.parse_args()
    report(asyncio.run(run(options.turns)), as_json=options.json)


if __name__ == "__main__":
    main()
