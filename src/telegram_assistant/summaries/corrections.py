"""Changes that posts of a story made themselves: corrections, updates, denials and deletions."""

from collections.abc import Sequence

from telegram_assistant.summaries.cleaning import CleanPost
from telegram_assistant.summaries.values import ChangeSort, StoryCorrection

MAX_CHANGES = 5


def find_corrections(posts: Sequence[CleanPost]) -> tuple[StoryCorrection, ...]:
    """The newest ones, oldest first, each once."""
    changes: list[StoryCorrection] = []
    for post in posts:
        story_post = post.post
        if story_post.is_deleted:
            changes.append(
                StoryCorrection(
                    ChangeSort.DELETED,
                    story_post.channel,
                    post.headline or next(iter(post.sentences), ""),
                    story_post.post_id,
                    story_post.posted_at,
                )
            )
        else:
            changes += [
                StoryCorrection(kind, story_post.channel, text, story_post.post_id, story_post.posted_at)
                for kind, text in post.changes
            ]
    distinct_changes = {(change.kind, change.text): change for change in reversed(changes)}
    return tuple(
        sorted(
            distinct_changes.values(),
            key=lambda change: (change.posted_at, change.post_id.channel_id, change.post_id.message_id),
        )[-MAX_CHANGES:]
    )
