"""Channels that go on posting by their rhythm while the simulator runs."""

import asyncio
import heapq
import random
from collections.abc import Callable

from telegram_simulator.control.operations import Control
from telegram_simulator.simulator import Simulator
from telegram_simulator.world.demo.demo import Demo
from telegram_simulator.world.demo.timeline import Act, Happening
from telegram_simulator.world.load import FIRST_CHANNEL
from telegram_simulator.world.world import Many

MAX_NAP_SECONDS = 1.0
AT_ONCE = 50
"""So many happenings of a busy catch-up pass before others get a turn."""


async def live(simulator: Simulator, many: Many) -> None:
    """Publishes every foretold post when its time has come, until cancelled."""
    control, world = Control(simulator), simulator.world
    pasts = [many.past(index) for index in range(many.count)]
    due_posts = [(past.date(many.posts), past.index, many.posts) for past in pasts]
    heapq.heapify(due_posts)
    while True:
        while due_posts and due_posts[0][0] <= world.now():
            _, index, number = heapq.heappop(due_posts)
            channel = world.channel(FIRST_CHANNEL + index)
            if channel is not None:
                control.publish_foretold(channel, number)
                simulator.counters.posts_live += 1
            heapq.heappush(due_posts, (pasts[index].date(number + 1), index, number + 1))
        pause_seconds = due_posts[0][0] - world.clock() if due_posts else MAX_NAP_SECONDS
        await asyncio.sleep(min(max(pause_seconds, 0.01), MAX_NAP_SECONDS))


async def live_on_plan(simulator: Simulator, demo: Demo) -> None:
    """Carries out each event of the demo's plan when its time has come, until cancelled."""
    control, world = Control(simulator), simulator.world
    while True:
        for number, happening in enumerate(demo.timeline.until(world.now())):
            _happen(simulator, control, demo, happening)
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)
        pause_seconds = demo.timeline.next_at() - world.clock()
        await asyncio.sleep(min(max(pause_seconds, 0.01), MAX_NAP_SECONDS))


async def live_at_pace(
    simulator: Simulator, demo: Demo, *, seconds: float, before_step: Callable[[int], None]
) -> None:
    """Carries out the plan of the demo step by step, a step about every `seconds`, until cancelled."""
    control, rng = Control(simulator), random.Random()
    while True:
        await asyncio.sleep(seconds * rng.uniform(0.5, 1.5))
        now = simulator.world.now()
        before_step(now)
        for happening in demo.step(now):
            _happen(simulator, control, demo, happening)


def _happen(simulator: Simulator, control: Control, demo: Demo, happening: Happening) -> None:
    """Carries out one event of the plan. A post deleted from outside is neither edited nor deleted again."""
    post, channel = happening.post, demo.channel_of(happening.post)
    if happening.act is Act.POST:
        number = demo.publish(post, channel.newest_id + 1)
        control.publish_foretold(channel, number)
        simulator.counters.posts_live += 1
    elif channel.get(demo.ids[post.key]) is not None:
        if happening.act is Act.EDIT:
            control.edit(channel.channel_id, demo.ids[post.key], None)
        else:
            control.delete(channel.channel_id, [demo.ids[post.key]])
