"""How true summaries are: posts of the unruly world, grouped through PostgreSQL, as a tenant that follows all
channels is shown them by default.

A line is right if the posts that it cites are in at least two wordings of different owners in truth
(`bench/workloads/wording_truth.py`). `own_words_recall_lines` is of the lines of a summary that are right,
whichever block they stand in; of headlines and leads it is of those that are right. `channels_precision_*` is
what counting channels would give on the same posts. `sister_*` compares pairs of channels in the networks
that were learnt with those that were planted. Disputes and states: `bench/workloads/summary_judging.py`.
`summary_cpu_ms` is of one summary.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

from bench.studies.stories import connect, group_posts
from bench.workloads.demo_posts import NOW
from bench.workloads.story_world import MEASURING_DAYS, LabelledPost, land, world
from bench.workloads.summary_judging import StateJudgement
from bench.workloads.wording_truth import WordingTruth, owners_of
from telegram_assistant.assembly import assemble
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.stories.visible import NO_VOICES, VisibleStory
from telegram_assistant.features.channels.networks import learn_networks
from telegram_assistant.features.stories.telling import summary_of
from telegram_assistant.stores.postgres.stores import TenantStores
from telegram_assistant.summaries.values import CitedSentence, StorySummary
from testkit.harness import arguments, at_least, at_most, finish, own_cpu_seconds, own_database

QUICK_DAYS = 14
MIN_WORDINGS = 2
MIN_CHANNELS = 2
LANGUAGES = ("ru", "en")
LIMITS = (
    *at_least(
        0.98, "own_words_precision_lines", "own_words_precision_headlines", "own_words_precision_leads"
    ),
    *at_least(0.65, "own_words_recall_lines"),
    *at_least(0.85, "own_words_recall_headlines"),
    *at_least(0.75, "own_words_recall_leads"),
    *at_most(0, "lines_in_two_blocks"),
    *at_most(0.03, "lines_of_two_events"),
    *at_least(0.9, "dispute_precision"),
    *at_least(0.64, "dispute_recall"),
    *at_least(0.99, "dispute_precision_one_event"),
    *at_least(0.95, "now_is_follow_up"),
    *at_most(0, "now_is_a_copy", "headline_contradicts_now"),
    *at_least(1.0, "sister_precision"),
    *at_least(0.8, "sister_recall"),
)
FULL_LIMITS = (*LIMITS, *at_least(1500, "stories"), *at_least(150, "disputes_planted"))
"""Of all days: fewer stories prove less."""


@dataclass(slots=True)
class Counts:
    """The counts for one kind of sentence."""

    stated: int = 0
    stated_right: int = 0
    right: int = 0
    by_channels: int = 0
    by_channels_right: int = 0

    def add(self, sentence: CitedSentence, truth: WordingTruth) -> None:
        is_right, is_stated = truth.is_in_own_words(sentence), sentence.wordings >= MIN_WORDINGS
        self.stated += is_stated
        self.stated_right += is_stated and is_right
        self.right += is_right

    def add_by_channels(self, sentence: CitedSentence, truth: WordingTruth) -> None:
        if len(sentence.posts) >= MIN_CHANNELS:
            self.by_channels += 1
            self.by_channels_right += truth.is_in_own_words(sentence)

    def figures(self, name: str) -> dict[str, float]:
        return {
            f"own_words_{name}": self.stated,
            f"own_words_precision_{name}": round(self.stated_right / max(self.stated, 1), 4),
            f"own_words_recall_{name}": round(self.stated_right / max(self.right, 1), 4),
            f"channels_{name}": self.by_channels,
            f"channels_precision_{name}": round(self.by_channels_right / max(self.by_channels, 1), 4),
        }


@dataclass(slots=True)
class Judgement:
    """The counts over all summaries."""

    states: StateJudgement
    lines: Counts = field(default_factory=Counts)
    headlines: Counts = field(default_factory=Counts)
    leads: Counts = field(default_factory=Counts)
    summaries: int = 0
    cpu_seconds: float = 0.0
    lines_in_two_blocks: int = 0
    lines_of_two_events: int = 0

    def add(self, story: VisibleStory, language: str, truth: WordingTruth) -> None:
        began = time.process_time()
        summary = summary_of(story, language=language)
        taken = time.process_time() - began
        by_channels = summary_of(replace(story, voices=NO_VOICES), language=language)
        if summary is None or by_channels is None or summary.language != language:
            return
        self.summaries += 1
        self.cpu_seconds += taken
        self.states.add(story, summary)
        self.headlines.add(summary.headline, truth)
        self.headlines.add_by_channels(by_channels.headline, truth)
        if summary.lead is not None:
            self.leads.add(summary.lead, truth)
        if by_channels.lead is not None:
            self.leads.add_by_channels(by_channels.lead, truth)
        self._add_lines(summary, by_channels, truth)
        self.lines_in_two_blocks += sum(count - 1 for count in Counter(_lines_of(summary)).values())

    def _add_lines(self, summary: StorySummary, by_channels: StorySummary, truth: WordingTruth) -> None:
        for sentence in summary.in_own_words:
            self.lines.stated += 1
            self.lines.stated_right += truth.is_in_own_words(sentence)
            self.lines_of_two_events += truth.is_of_two_events(sentence)
        for sentence in _further_lines(by_channels):
            self.lines.add_by_channels(sentence, truth)
        lines = (*_further_lines(summary), *_further_lines(by_channels))
        self.lines.right += len({sentence.text for sentence in lines if truth.is_in_own_words(sentence)})

    def figures(self) -> dict[str, float]:
        return {
            "summaries": self.summaries,
            **self.lines.figures("lines"),
            **self.headlines.figures("headlines"),
            **self.leads.figures("leads"),
            "lines_in_two_blocks": self.lines_in_two_blocks,
            "lines_of_two_events": round(self.lines_of_two_events / max(self.lines.stated, 1), 4),
            **self.states.figures(),
            "summary_cpu_ms": round(self.cpu_seconds / max(self.summaries, 1) * 1000, 1),
        }


def _further_lines(summary: StorySummary) -> list[CitedSentence]:
    """Beside the headline and the lead, in however many wordings."""
    return [*summary.in_own_words, *(addition.sentence for addition in summary.added)]


def _lines_of(summary: StorySummary) -> list[str]:
    aside = (summary.before, summary.latest)
    sentences = (
        *summary.known,
        *summary.disputed_sentences,
        *(addition.sentence for addition in summary.added),
    )
    return [line.text for line in (*sentences, *(line for line in aside if line is not None))]


async def load_stories(posts: Iterable[LabelledPost], stores: TenantStores) -> list[VisibleStory]:
    """Every story of several channels, as the tenant is shown it."""
    stories: list[VisibleStory] = []
    known: set[PostId] = set()
    for post in posts:
        if post.post.id in known:
            continue
        material = await stores.stories.around(post.post.id)
        for story in await asyncio.to_thread(list, material.stories()):
            known.update(post.post_id for post in story.posts)
            if len(story.channel_ids) >= MIN_CHANNELS:
                stories.append(story)
    return stories


def sister_figures(
    planted: Mapping[ChannelId, ChannelId], networks: Mapping[ChannelId, ChannelId]
) -> dict[str, float]:
    def pairs(owners: Mapping[ChannelId, ChannelId]) -> set[tuple[ChannelId, ChannelId]]:
        return {
            (channel, other)
            for channel, other in combinations(sorted(owners), 2)
            if owners[channel] == owners[other]
        }

    true, learnt = pairs(planted), pairs(networks)
    return {
        "sisters": len(true),
        "sister_precision": round(len(true & learnt) / max(len(learnt), 1), 4),
        "sister_recall": round(len(true & learnt) / max(len(true), 1), 4),
    }


async def measure(*, seed: int, days: int) -> dict[str, Any]:
    posts = world(seed=seed, days=days, is_unruly=True)
    labelled = {post.post.id: post for post in posts}
    truth = WordingTruth(labelled, owners_of(posts))
    async with own_database("tga_bench_summaries") as settings, assemble(settings) as app:
        await land(app, posts)
        tenant_id = (await app.system.tenants.ensure("bench")).tenant_id
        admin = await connect(settings)
        await admin.execute(
            "INSERT INTO subscriptions (tenant_id, channel_id, history_days) SELECT $1, channel_id, 90 "
            "FROM channels",
            tenant_id,
        )
        await group_posts(app, admin, [post.post.id for post in posts])
        await admin.execute("ANALYZE")
        stores = app.tenant(tenant_id)
        began = own_cpu_seconds()
        await learn_networks(networks=stores.networks, now=datetime.fromtimestamp(NOW, UTC))
        learning = own_cpu_seconds() - began
        networks = {
            ChannelId(row["channel_id"]): ChannelId(row["network"])
            for row in await admin.fetch("SELECT channel_id, network FROM subscriptions WHERE network > 0")
        }
        await admin.close()
        stories = await load_stories(posts, stores)
    judgement = Judgement(StateJudgement(labelled))
    for story in stories:
        for language in LANGUAGES:
            judgement.add(story, language, truth)
    return {
        "posts": len(posts),
        "stories": len(stories),
        **judgement.figures(),
        **sister_figures(truth.owners, networks),
        "learning_cpu_s": round(learning, 2),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--days", type=int, default=MEASURING_DAYS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_DAYS} days")
    options = parser.parse_args()
    days = QUICK_DAYS if options.quick else options.days
    limits = FULL_LIMITS if days >= MEASURING_DAYS else LIMITS
    result = asyncio.run(measure(seed=options.seed, days=days))
    finish({"bench": "summaries", "seed": options.seed, "days": days, **result}, options, *limits)


if __name__ == "__main__":
    main()
