"""The unruly world itself."""

from collections.abc import Callable, Sequence

from telegram_simulator.world.demo.demo import DAYS, Demo
from telegram_simulator.world.demo.links import SITE
from telegram_simulator.world.unruly.pack import unruly_pack
from telegram_simulator.world.unruly.planning import plan_unruly_day


def make_unruly_world(
    *,
    seed: int,
    present: int,
    clock: Callable[[], float],
    days: int = DAYS["demo"],
    site: str = SITE,
    steps: Sequence[int] | None = None,
) -> Demo:
    """The demo world with everything that the pack plants."""
    return Demo(
        seed=seed,
        present=present,
        clock=clock,
        days=days,
        site=site,
        steps=steps,
        manners=unruly_pack().manners,
        plan=plan_unruly_day,
    )
