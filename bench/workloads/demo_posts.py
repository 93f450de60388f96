"""Posts of the demo world as benches read them."""

from telegram_simulator.world.demo.links import SITE
from telegram_simulator.world.demo.plan import Planned
from telegram_simulator.world.demo.texts import text_of

NOW = 1_794_700_000


def text_of_post(post: Planned) -> str:
    return text_of(post, 0, site=SITE).text
