"""Channels that go on posting by their rhythm while the simulator runs."""

import asyncio
import heapq

from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.load import FIRST_CHANNEL
from telegram_simulator.world.world import Many

LONGEST_NAP_SECONDS = 1.0


async def live(simulator: Simulator, many: Many) -> None:
    """Publish every foretold post when its time has come, until cancelled."""
    control, world = Control(simulator), simulator.world
    pasts = [many.past(index) for index in range(many.count)]
    due = [(past.date(many.posts), past.index, many.posts) for past in pasts]
    heapq.heapify(due)
    while True:
        while due and due[0][0] <= world.now():
            _, index, number = heapq.heappop(due)
            channel = world.channel(FIRST_CHANNEL + index)
            if channel is not None:
                control.tell_foretold(channel, number)
                simulator.counters.posts_live += 1
            heapq.heappush(due, (pasts[index].date(number + 1), index, number + 1))
        pause = due[0][0] - world.clock() if due else LONGEST_NAP_SECONDS
        await asyncio.sleep(min(max(pause, 0.01), LONGEST_NAP_SECONDS))
