"""The demo world beside what is known of real channels, and whether it starts soon, stays small and can be
read through.

Figures of real channels: 264,347 active Persian channels posted 3,075,227 times a day (2018), with 285,000
posts in the busiest hour and 15,000 in the slowest. Percentiles per channel are not published anywhere we
know of; `model` is our model of activity (bench.activity).
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from telethon import TelegramClient
from telethon.tl.functions.messages import GetHistoryRequest

from telegram_simulator.world.demo.demo import DAYS, Demo
from telegram_simulator.world.demo.packs import packs
from telegram_simulator.world.demo.plan import DAY, Planned, Role, Shows
from testkit.harness import arguments, cpu_seconds, percentile, report
from testkit.simulators import PHONE, client_for, simulator

NOW = 1_794_700_000
FILES = (Shows.VIDEO, Shows.PDF, Shows.WEBP, Shows.GIF, Shows.PNG)
ROWS = (
    ("posts per channel and day, mean", "per_day_mean", "11.6 measured, 9.7 model"),
    ("posts per channel and day, median", "per_day_median", "3 model"),
    ("posts per channel and day, 90th percentile", "per_day_p90", "22 model"),
    ("share of the busiest tenth of channels", "top_tenth", "0.60 model"),
    ("busiest hour of the day beside the mean", "peak_to_mean", "2.2 measured"),
    ("busiest hour beside the slowest", "peak_to_trough", "19 measured, 11.4 model"),
    ("a weekend day beside a working day", "weekend", "0.72 model"),
    ("forwards", "forwards", "0.15 assumed in `load`"),
    ("photos", "photos", "0.40 assumed"),
    ("films and other files", "files", "0.08 assumed in `load`"),
    ("previews of links", "pages", "0.15 assumed in `load`"),
    ("posts in albums", "albums", "0.07 assumed in `load`"),
    ("polls", "polls", "0.01 assumed in `load`"),
    ("edited", "edited", "not known"),
    ("deleted", "deleted", "not known"),
    ("advertising", "advertising", "not known"),
)


def statistics_of(demo: Demo, days: int) -> dict[str, float]:
    posts = [post for past in demo.pasts for post in past.posts[1:]]
    per_day = sorted((len(past.posts) - 1) / days for past in demo.pasts)
    hours, weekdays = by_hour(posts), by_weekday(posts, days)
    tenth = per_day[-round(len(per_day) / 10) :]

    def share(count: int) -> float:
        return round(count / len(posts), 3)

    roles = Counter(post.role for post in posts)
    shows = Counter(post.shows for post in posts)
    return {
        "posts": len(posts),
        "stories": len({post.story.number for post in posts if post.story is not None}),
        "per_day_mean": round(sum(per_day) / len(per_day), 1),
        "per_day_median": round(percentile(per_day, 0.5), 1),
        "per_day_p90": round(percentile(per_day, 0.9), 1),
        "top_tenth": round(sum(tenth) / sum(per_day), 2),
        "peak_to_mean": round(max(hours) / (sum(hours) / 24), 1),
        "peak_to_trough": round(max(hours) / max(min(hours), 1), 1),
        "weekend": round(sum(weekdays[5:]) / 2 / (sum(weekdays[:5]) / 5), 2),
        "forwards": share(roles[Role.FORWARD]),
        "photos": share(shows[Shows.PHOTO]),
        "files": share(sum(shows[file] for file in FILES)),
        "pages": share(shows[Shows.PAGE]),
        "polls": share(shows[Shows.POLL]),
        "albums": share(sum(post.parts > 1 for post in posts)),
        "edited": share(sum(post.edit_at is not None for post in posts)),
        "deleted": share(sum(post.deleted_at is not None for post in posts)),
        "advertising": share(sum(post.kind == "advertising" for post in posts)),
    }


def by_hour(posts: Sequence[Planned]) -> list[int]:
    """Posts by hour of the channel's own day: its readers' clock, as in the census of one country."""
    counted = Counter(
        datetime.fromtimestamp(post.date + (3 if post.channel.language == "ru" else 0) * 3600, UTC).hour
        for post in posts
    )
    return [counted[hour] for hour in range(24)]


def by_weekday(posts: Sequence[Planned], days: int) -> list[int]:
    """Posts by day of the week, of whole weeks, beginning with Monday."""
    whole = NOW - days // 7 * 7 * DAY
    counted = Counter(
        datetime.fromtimestamp(post.date, UTC).weekday() for post in posts if post.date >= whole
    )
    return [counted[day] for day in range(7)]


async def reading() -> dict[str, float]:
    """A process of its own: how soon it answers, what it holds,
    and how long one client needs to read all of it.
    """
    with (
        simulator("demo", "--now", datetime.fromtimestamp(NOW, UTC).isoformat()) as running,
        running.control() as control,
    ):
        started, spent = running.started_s, cpu_seconds(running.process.pid)
        client = client_for(control.session(PHONE))
        await client.connect()
        began, read = time.perf_counter(), 0
        for manner in packs().channels:
            if manner.name:
                read += await _whole(client, manner.name)
        took = time.perf_counter() - began
        await client.disconnect()
        assert sum(1 for _ in control.truth()) >= read
        return {
            "start_s": round(started, 2),
            "start_cpu_s": round(spent, 2),
            "memory_mb": round(running.memory_mb),
            "posts_read": read,
            "read_s": round(took, 1),
        }


async def _whole(client: TelegramClient, name: str) -> int:
    channel, offset, read = await client.get_input_entity(name), 0, 0
    while True:
        page = await client(GetHistoryRequest(channel, offset, None, 0, 100, 0, 0, 0))
        if not page.messages:
            return read
        read, offset = read + len(page.messages), page.messages[-1].id


def draw(demo: Demo, file: Path) -> None:
    """Posts by hour, and what they are to their stories, in tones that are seen on white and on black."""
    import matplotlib as mpl  # noqa: PLC0415 -- only a run that draws needs it
    from matplotlib.figure import Figure  # noqa: PLC0415 -- as above

    posts = [post for past in demo.pasts for post in past.posts[1:]]
    hours, grey = by_hour(posts), "#808080"
    per_day = sorted(((len(past.posts) - 1) / DAYS["demo"] for past in demo.pasts), reverse=True)
    roles = Counter(post.role.value for post in posts if post.part == 0)
    with mpl.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "demo",
            "font.size": 10,
            "text.color": grey,
            "axes.edgecolor": grey,
            "xtick.color": grey,
            "ytick.color": grey,
        }
    ):
        figure = Figure(figsize=(10, 3.2), layout="constrained")
        day, channels, spread = figure.subplots(1, 3)
        day.bar(range(24), [hour * 24 / sum(hours) for hour in hours], color="#4c8dae")
        day.axhline(2.2, color="#c0504d", linestyle="--", linewidth=1.5)
        day.text(0, 2.24, "measured peak", fontsize=9, color="#c0504d")
        day.set_title("posts by hour, mean = 1", fontsize=10)
        channels.plot(range(1, len(per_day) + 1), per_day, color="#4c8dae", linewidth=2)
        channels.set_yscale("log")
        channels.axhline(11.6, color="#c0504d", linestyle="--", linewidth=1.5)
        channels.text(20, 12.6, "measured mean", fontsize=9, color="#c0504d")
        channels.set_title("posts a day, by channel", fontsize=10)
        names = [role.value for role in Role]
        spread.barh(names[::-1], [100 * roles[name] / roles.total() for name in names[::-1]], color="#4c8dae")
        spread.set_title("% of posts, by role in a story", fontsize=10)
        for axes in (day, channels, spread):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(color=grey, alpha=0.2)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, transparent=True, metadata={"Date": None})


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--plot", type=Path, help="an .svg to draw it")
    options = parser.parse_args()
    demo = Demo(seed=1, present=NOW, clock=lambda: NOW)
    measuring = Demo(seed=1, present=NOW, clock=lambda: NOW, days=DAYS["measuring"])
    if options.plot:
        draw(demo, options.plot)
    smaller, larger = statistics_of(demo, DAYS["demo"]), statistics_of(measuring, DAYS["measuring"])
    if not options.json:
        print("| what | demo | measuring | real channels |\n|---|---|---|---|")
        for name, key, real in ROWS:
            print(f"| {name} | {smaller[key]} | {larger[key]} | {real} |")
        print()
    result: dict[str, object] = {
        "bench": "demo_world",
        **smaller,
        "measuring_posts": larger["posts"],
        "measuring_stories": larger["stories"],
    }
    report({**result, **asyncio.run(reading()), "python": sys.version.split()[0]}, as_json=options.json)


if __name__ == "__main__":
    main()
