"""Freshness: how long posts wait for a poll under the production policy, beside one that knows the truth and
a fixed tick.

A week of made-up channels in virtual time, after a week of history and two weeks in which the policy learns
from its own polls.
"""

import os
import platform
import time
from argparse import Namespace
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.workloads.activity import MONDAY, SHARPER_HABITS, Floats, Nature, World, make_world
from bench.workloads.polling import Budget, Reader, classic, first_page, fresh, make_budget, oracle, outages
from telegram_assistant import __version__
from telegram_assistant.domain.channels import rhythm
from telegram_assistant.domain.channels.health import PROMISED
from telegram_assistant.domain.channels.priority import Priority
from telegram_assistant.domain.channels.rhythm import DAY, HOUR
from testkit.harness import arguments, at_least, at_most, finish

HISTORY_DAYS = 7
TRAINING_DAYS = 14
AFTERWARDS = 2 * HOUR
SLACK_SECONDS = 300.0
QUICK = {
    "channels": 300,
    "requests_per_second": 0.3,
    "days": 3,
    "seeds": 3,
    "sensitivity_seeds": 0,
    "no_outages": True,
}
WEIGHTS = {Priority.HIGH: 4.0, Priority.NORMAL: 1.0, Priority.LOW: 0.25}
"""As the database's function gives them to channels."""
CURVES = (
    ("classic", "a fixed tick", "#c0653a", "-"),
    ("fresh", "ours, from what it saw", "#2f8fd0", "-"),
    ("oracle", "the truth known", "#3f9a5a", "--"),
)


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    nature: Nature
    per_second: float
    days: int
    with_outages: bool

    @property
    def max_seconds(self) -> float:
        """No channel waits for more than two rounds of all channels in a row."""
        return 2 * self.nature.channels / self.per_second


@dataclass(frozen=True)
class Outcome:
    """The results of one policy over the measured days of one world."""

    waits: Floats
    requests: int
    empty: int
    stalest_seconds: float

    @classmethod
    def from_reader(cls, reader: Reader) -> "Outcome":
        return cls(np.array(reader.waits), reader.requests, reader.empty, reader.stalest_seconds)


@dataclass(frozen=True)
class Run:
    """One world, three policies."""

    outcomes: dict[str, Outcome]
    activity: dict[str, float]
    max_outage_seconds: float


@dataclass(frozen=True)
class Scene:
    """A world with its requests."""

    world: World
    budget: Budget
    followed_from: float
    measured_from: float


def make_scene(size: Size, seed: int) -> Scene:
    followed_from = MONDAY + HISTORY_DAYS * DAY
    measured_from = followed_from + TRAINING_DAYS * DAY
    measured_until = measured_from + size.days * DAY
    world = make_world(size.nature, begin=MONDAY, end=measured_until + AFTERWARDS, seed=seed)
    closed = (
        outages(begin=followed_from, days=TRAINING_DAYS + size.days, seed=seed) if size.with_outages else ()
    )
    budget = make_budget(
        per_second=size.per_second,
        begin=followed_from,
        end=world.end,
        measured=(measured_from, measured_until),
        closed=closed,
    )
    return Scene(world, budget, followed_from, measured_from)


def run_tiers(size: Size, seed: int) -> dict[Priority, Floats]:
    """The production policy alone: a tenth of the channels has high priority, a tenth low."""
    scene = make_scene(size, seed)
    tiers = [
        Priority.HIGH if number % 10 == 0 else Priority.LOW if number % 10 == 5 else Priority.NORMAL
        for number in range(size.nature.channels)
    ]
    weights = [WEIGHTS[tier] for tier in tiers]
    reader = fresh(
        scene.world, scene.budget, scene.followed_from, max_seconds=size.max_seconds, weights=weights
    )
    return {
        priority: np.array(
            [
                wait
                for tier, waits in zip(tiers, reader.waits_of, strict=True)
                if tier is priority
                for wait in waits
            ]
        )
        for priority in Priority
    }


def summary_of_tiers(size: Size, options: Namespace) -> dict[str, Any]:
    """How soon posts are found, and how many within the time that the priority of their channel promises."""
    with ProcessPoolExecutor(options.processes) as processes:
        runs = [
            running.result()
            for running in [processes.submit(run_tiers, size, seed) for seed in range(1, 1 + options.seeds)]
        ]
    figures_of: dict[str, Any] = {}
    for priority, promised in PROMISED.items():
        waits = np.concatenate([waits_of[priority] for waits_of in runs])
        median, p95, p99 = np.percentile(waits, (50, 95, 99))
        figures_of[priority.value] = {
            "promised_s": promised.total_seconds(),
            "kept": round(float((waits <= promised.total_seconds()).mean()), 4),
            "median_s": round(median, 1),
            "p95_s": round(p95, 1),
            "p99_s": round(p99, 1),
        }
    sizes = {
        "channels": size.nature.channels,
        "requests_per_second": size.per_second,
        "days": size.days,
        "seeds": options.seeds,
    }
    return {"bench": "freshness by priority", **figures_of, **sizes}


def run(size: Size, seed: int) -> Run:
    """The oracle and the tick have nothing to learn and begin one day before the measurement."""
    scene = make_scene(size, seed)
    world, budget, followed_from, measured_from = (
        scene.world,
        scene.budget,
        scene.followed_from,
        scene.measured_from,
    )
    readers = {
        "fresh": fresh(world, budget, followed_from, max_seconds=size.max_seconds),
        "oracle": oracle(world, budget, measured_from - DAY),
        "classic": classic(world, budget, measured_from - DAY),
    }
    return Run(
        {name: Outcome.from_reader(reader) for name, reader in readers.items()},
        world.describe(),
        budget.max_outage_seconds,
    )


def vary_nature(nature: Nature) -> dict[str, Nature]:
    """The reference with other assumptions about traits of real channels that nobody has measured."""
    return {
        "spread 1.2": replace(nature, spread=1.2),
        "spread 2.0": replace(nature, spread=2.0),
        "bursts 0.6": replace(nature, branching=0.6),
        "sharper days": replace(nature, habits=SHARPER_HABITS),
    }


def run_all(sizes: dict[str, Size], options: Namespace) -> dict[str, list[Run]]:
    with ProcessPoolExecutor(options.processes) as processes:
        runs = {
            name: [
                processes.submit(run, size, seed)
                for seed in range(1, 1 + (options.sensitivity_seeds if name else options.seeds))
            ]
            for name, size in sizes.items()
        }
        return {name: [task.result() for task in those] for name, those in runs.items() if those}


def mean(runs: list[Run], policy: str) -> float:
    return float(np.mean([run.outcomes[policy].waits.mean() for run in runs]))


def figures(runs: list[Run], policy: str) -> dict[str, float]:
    outcomes = [run.outcomes[policy] for run in runs]
    waits = np.concatenate([outcome.waits for outcome in outcomes])
    p50, p95, p99 = np.percentile(waits, (50, 95, 99))
    requests = sum(outcome.requests for outcome in outcomes)
    return {
        "mean_s": round(mean(runs, policy), 1),
        "median_s": round(p50, 1),
        "p95_s": round(p95, 1),
        "p99_s": round(p99, 1),
        "stalest_s": round(max(outcome.stalest_seconds for outcome in outcomes)),
        "empty_share": round(sum(outcome.empty for outcome in outcomes) / requests, 4),
        "requests": round(requests / len(runs)),
    }


def ratios(runs: list[Run]) -> dict[str, float]:
    ours = mean(runs, "fresh")
    return {
        "vs_oracle": round(ours / mean(runs, "oracle"), 3),
        "vs_classic": round(ours / mean(runs, "classic"), 3),
    }


def decision_us() -> float:
    """CPU of one decision, over channels as different as they are."""
    now = MONDAY + 7 * DAY + 9.3 * HOUR
    rhythms = [
        first_page(posts, now, MONDAY) for posts in make_world(Nature(), begin=MONDAY, end=now, seed=1).posts
    ]
    price = rhythm.price(sum(rhythm.base(state, rhythm.FLAT, now) ** 0.5 for state in rhythms), 1.0)
    began, rounds = time.process_time(), 20
    for _ in range(rounds):
        for channel_rhythm in rhythms:
            rhythm.wait_seconds(channel_rhythm, rhythm.FLAT, now=now, price=price, max_seconds=2000.0)
    return (time.process_time() - began) / rounds / len(rhythms) * 1e6


def summary(size: Size, runs: list[Run], others: dict[str, list[Run]], *, bar: float) -> dict[str, Any]:
    bound = size.max_seconds + max(run.max_outage_seconds for run in runs) + SLACK_SECONDS
    by_policy = {policy: figures(runs, policy) for policy in ("fresh", "oracle", "classic")}
    measured = {**ratios(runs), "worst_staleness_seconds": by_policy["fresh"]["stalest_s"]}
    bars = {"vs_oracle": bar, "vs_classic": 0.5, "worst_staleness_seconds": round(bound)}
    return {
        "bench": "freshness",
        **measured,
        "bars": bars,
        "vs_oracle_by_seed": [ratios([run])["vs_oracle"] for run in runs],
        **by_policy,
        "sensitivity": {name: ratios(those) for name, those in others.items()},
        "decision_cpu_us": round(decision_us(), 1),
        "channels": size.nature.channels,
        "requests_per_second": size.per_second,
        "days": size.days,
        "seeds": len(runs),
        "outages": size.with_outages,
        "max_wait_s": round(size.max_seconds),
        "posts": round(float(np.mean([len(run.outcomes["fresh"].waits) for run in runs]))),
        "activity": {
            name: round(float(np.mean([run.activity[name] for run in runs])), 3) for name in runs[0].activity
        },
        "tga": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "cores": os.cpu_count(),
    }


def draw(runs: list[Run], file: Path) -> None:
    """Draws the share of posts found within each time, in colours that are visible on white and on black."""
    import matplotlib as mpl  # noqa: PLC0415 -- only a run that draws needs it
    from matplotlib.figure import Figure  # noqa: PLC0415 -- as above

    grey = "#808080"
    with mpl.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "freshness",
            "font.size": 11,
            "text.color": grey,
            "axes.edgecolor": grey,
            "xtick.color": grey,
            "ytick.color": grey,
        }
    ):
        figure = Figure(figsize=(7, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for policy, label, colour, line in CURVES:
            waits = np.concatenate([run.outcomes[policy].waits for run in runs])
            shares = np.linspace(0, 100, 201)
            axes.plot(
                np.percentile(waits, shares),
                shares,
                line,
                color=colour,
                linewidth=2,
                label=f"{label}: mean {mean(runs, policy):.0f} s",
            )
        axes.set_xscale("log")
        axes.set_xlim(5, HOUR)
        axes.set_xticks(
            [10, 30, 60, 300, 900, 1800, 3600], ["10 s", "30 s", "1 min", "5 min", "15 min", "30 min", "1 h"]
        )
        axes.minorticks_off()
        axes.set_ylim(0, 100)
        axes.set_yticks([0, 25, 50, 75, 100], ["0", "25 %", "50 %", "75 %", "100 %"])
        axes.set_title("posts found within this time after publishing", fontsize=11)
        axes.grid(color=grey, alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="upper left")
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, transparent=True, metadata={"Date": None})


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--channels", type=int, default=1000)
    parser.add_argument("--requests-per-second", type=float, default=1.0)
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--sensitivity-seeds", type=int, default=4)
    parser.add_argument("--no-outages", action="store_true")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--quick", action="store_true", help=" ".join(f"{name}={value}" for name, value in QUICK.items())
    )
    parser.add_argument(
        "--tiers", action="store_true", help="how well each priority keeps what it promises, and nothing else"
    )
    parser.add_argument("--plot", type=Path, help="an .svg to draw how soon posts are found")
    options = parser.parse_args()
    if options.quick:
        vars(options).update(QUICK)
    size = Size(
        Nature(channels=options.channels), options.requests_per_second, options.days, not options.no_outages
    )
    if options.tiers:
        finish(
            summary_of_tiers(size, options),
            options,
            *at_least(0.95, *(f"{priority.value}.kept" for priority in Priority)),
        )
    sizes = {
        "": size,
        **{name: replace(size, nature=nature) for name, nature in vary_nature(size.nature).items()},
    }
    runs = run_all(sizes, options)
    if options.plot:
        draw(runs[""], options.plot)
    result = summary(size, runs.pop(""), runs, bar=1.18 if options.quick else 1.15)
    finish(
        result, options, *(limit for figure, bar in result["bars"].items() for limit in at_most(bar, figure))
    )


if __name__ == "__main__":
    main()
