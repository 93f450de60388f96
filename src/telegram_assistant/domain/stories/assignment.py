"""Which id each group of posts gets: a story keeps its id where most of it survives."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.stories.story import StoryId


@dataclass(frozen=True, slots=True)
class Assignment:
    """The stories of posts, and where the stories went whose id nobody has any more."""

    stories: Mapping[PostId, StoryId]
    merged: Mapping[StoryId, StoryId]


def assign(
    groups: Sequence[frozenset[PostId]],
    story_by_post: Mapping[PostId, StoryId],
    new_id: Callable[[], StoryId],
) -> Assignment:
    """Gives each group the id of the story from which most of its posts come, if no other group has more of
    that story.

    `known` is the story of every post that had one. The largest part decides first; of equal parts that of
    the earlier group.
    """
    parts = [
        (count, -group_index, story)
        for group_index, group in enumerate(groups)
        for story, count in _count_known(group, story_by_post).items()
    ]
    story_by_place: dict[int, StoryId] = {}
    taken_story_ids: set[StoryId] = set()
    for _, group_index, story in sorted(parts, key=lambda part: (-part[0], -part[1], part[2])):
        if -group_index not in story_by_place and story not in taken_story_ids:
            story_by_place[-group_index] = story
            taken_story_ids.add(story)
    ids = [story_by_place.get(group_index) or new_id() for group_index in range(len(groups))]
    targets_by_story: dict[StoryId, Counter[StoryId]] = {}
    for story_id, group in zip(ids, groups, strict=True):
        for story, count in _count_known(group, story_by_post).items():
            targets_by_story.setdefault(story, Counter())[story_id] += count
    merged_stories = {
        story: targets.most_common(1)[0][0]
        for story, targets in targets_by_story.items()
        if story not in taken_story_ids
    }
    return Assignment(
        {post_id: story_id for story_id, group in zip(ids, groups, strict=True) for post_id in group},
        merged_stories,
    )


def _count_known(group: frozenset[PostId], story_by_post: Mapping[PostId, StoryId]) -> Counter[StoryId]:
    return Counter(story_by_post[post_id] for post_id in group if post_id in story_by_post)
