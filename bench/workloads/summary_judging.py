"""Judges what summaries say of disputed numbers and of the newest state, by the truth of the unruly world.

A dispute is right if its numbers are the key number of one event, one of them the wrong one, and each side
has a post about that event.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from bench.workloads.story_world import LabelledPost
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.visible import VisibleStory
from telegram_assistant.language.quantities import quantities_in
from telegram_assistant.summaries.values import Dispute, StorySummary
from telegram_simulator.world.demo.plan import Role, Story

SCALES = (1.0, 1e3, 1e6, 1e9)
"""A template may write a number in thousands, millions or billions."""

type Truth = Mapping[PostId, LabelledPost]


@dataclass(slots=True)
class StateJudgement:
    """The counts of disputes and states over all summaries."""

    truth: Truth
    disputes: list[tuple[bool, bool]] = field(default_factory=list)
    """For each mark: whether it is right, and whether its posts tell one event."""
    planted: list[bool] = field(default_factory=list)
    """For each dispute that different posts state: whether the summary has it."""
    states: list[Mapping[str, int]] = field(default_factory=list)

    def add(self, story: VisibleStory, summary: StorySummary) -> None:
        self.disputes += [judge_dispute(dispute, self.truth) for dispute in summary.disputed]
        self.planted += find_planted(story, summary, self.truth)
        self.states.append(judge_state(story, summary, self.truth))

    def figures(self) -> dict[str, float]:
        return {
            "disputes": len(self.disputes),
            "dispute_precision": _share([is_right for is_right, _ in self.disputes]),
            "dispute_precision_one_event": _share([is_right for is_right, is_one in self.disputes if is_one]),
            "disputes_planted": len(self.planted),
            "dispute_recall": _share(self.planted),
            **_figures_of_states(self.states),
        }


def judge_dispute(dispute: Dispute, truth: Truth) -> tuple[bool, bool]:
    """Whether the dispute is about an event that all sides tell, and whether all its posts tell one event."""
    claims = (dispute.stands, *dispute.others)
    sides = [{_event_of(truth[post_id]) for post_id in claim.posts} for claim in claims]
    numbers = [{quantity.value for quantity in quantities_in(claim.number).all} for claim in claims]
    stories = {
        story.story_id: story
        for claim in claims
        for post_id in claim.posts
        if (story := truth[post_id].planned.story) is not None
    }
    shared = [stories[event] for event in set.intersection(*sides) if event is not None]
    is_one_event = len(set.union(*sides)) == 1 and bool(shared)
    return any(_is_contradicted(story, numbers) for story in shared), is_one_event


def _event_of(post: LabelledPost) -> str | None:
    return post.planned.story.story_id if post.planned.story is not None else None


def _is_contradicted(story: Story, numbers: Sequence[set[float]]) -> bool:
    true, wrong = key_values(story)
    return all(values & (true | wrong) for values in numbers) and any(values & wrong for values in numbers)


def find_planted(story: VisibleStory, summary: StorySummary, truth: Truth) -> list[bool]:
    """For every event of which different posts state both numbers: whether a dispute has them."""
    stated: dict[str, tuple[Story, set[bool]]] = {}
    for post in story.posts:
        event = truth[post.post_id].planned.story
        if event is None or post.language != summary.language:
            continue
        values = {quantity.value for quantity in quantities_in(post.text).all}
        true, wrong = key_values(event)
        if bool(values & true) != bool(values & wrong):
            stated.setdefault(event.story_id, (event, set()))[1].add(bool(values & wrong))
    return [
        any(_has_both(dispute, event) for dispute in summary.disputed)
        for event, sides in stated.values()
        if len(sides) > 1
    ]


def key_values(story: Story) -> tuple[set[float], set[float]]:
    """The true and the wrong key number in every scale."""
    key = story.event.key
    true, wrong = story.values[key], story.wrong[key]
    if not isinstance(true, int | float) or not isinstance(wrong, int | float):
        return set(), set()
    return {round(true * scale, 6) for scale in SCALES}, {round(wrong * scale, 6) for scale in SCALES}


def _has_both(dispute: Dispute, story: Story) -> bool:
    numbers = {
        quantity.value
        for claim in (dispute.stands, *dispute.others)
        for quantity in quantities_in(claim.number).all
    }
    true, wrong = key_values(story)
    return bool(numbers & true) and bool(numbers & wrong)


def judge_state(story: VisibleStory, summary: StorySummary, truth: Truth) -> dict[str, int]:
    """Counts, of which a figure is the quotient of two."""
    posts = [post for post in story.posts if post.language == summary.language]
    follow_ups = [post.post_id for post in posts if truth[post.post_id].planned.role is Role.FOLLOW_UP]
    own = (summary.latest or summary.headline).posts[0]
    turns = [post.post_id for post in posts if _state(truth[post.post_id])]
    is_follow_up = truth[own].planned.role is Role.FOLLOW_UP
    return {
        "follow_up_stories": bool(follow_ups),
        "now_is_follow_up": bool(follow_ups) and is_follow_up,
        "now_is_a_copy": bool(summary.latest or summary.state_at)
        and _is_copy(truth[own], {truth[post.post_id].planned.key for post in posts}),
        "states_told": summary.state_at is not None,
        "state_is_follow_up": summary.state_at is not None
        and truth[summary.headline.posts[0]].planned.role is Role.FOLLOW_UP,
        "turned_stories": bool(turns),
        "turn_is_headline": bool(turns) and summary.headline.posts[0] in turns,
        "headline_contradicts_now": _contradicts(summary, turns, truth),
    }


def _is_copy(post: LabelledPost, keys: Collection[int]) -> bool:
    """Whether it repeats the words of a post of the same story in the same language."""
    return post.planned.author.key != post.planned.key and post.planned.author.key in keys


def _state(post: LabelledPost) -> str:
    planted = post.planned.planted
    return planted.state if planted else ""


def _contradicts(summary: StorySummary, turns: Sequence[PostId], truth: Truth) -> bool:
    """Whether a later turn of the same event ended the state that the headline gives as the newest one."""
    own = summary.headline.posts[0]
    if summary.state_at is None or not (state := _state(truth[own])):
        return False
    return any(
        turn != own
        and truth[turn].truth == truth[own].truth
        and truth[turn].post.posted_at > truth[own].post.posted_at
        and _state(truth[turn]) != state
        and _kind(_state(truth[turn])) == _kind(state)
        for turn in turns
    )


def _kind(state: str) -> bool:
    """Numbers that grow are states of another kind than turns."""
    return state[-1:].isdigit()


def _figures_of_states(states: Sequence[Mapping[str, int]]) -> dict[str, float]:
    totals = {key: sum(int(state[key]) for state in states) for key in (states[0] if states else ())}
    follow_ups, states_told = totals.get("follow_up_stories", 0), totals.get("states_told", 0)
    return {
        **totals,
        "now_is_follow_up": _quotient(totals.get("now_is_follow_up", 0), follow_ups),
        "state_is_follow_up": _quotient(totals.get("state_is_follow_up", 0), states_told),
    }


def _share(values: Sequence[bool]) -> float:
    return _quotient(sum(values), len(values))


def _quotient(part: int, total: int) -> float:
    return round(part / total, 4) if total else math.nan
