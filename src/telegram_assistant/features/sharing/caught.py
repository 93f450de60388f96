"""Collects what a copy of the week's quiet changes says."""

from collections.abc import Iterable
from datetime import timedelta

from telegram_assistant.domain.posts.differences import Piece, PieceChange
from telegram_assistant.domain.sharing.content import SharedContent, SharedLine, SharedSection, SourcePost
from telegram_assistant.features.posts.caught import CaughtChanges
from telegram_assistant.features.posts.changes import DescribedChange
from telegram_assistant.features.sharing.content import AFTER, BEFORE
from telegram_assistant.reasons import Reason

MAX_LETTERS = 280
"""Of a deleted text; its hash is that of the whole."""
DELETED = Reason("share_caught_text", "deleted text")
VIEWS = Reason("share_caught_views", "views")


def caught_title(caught_changes: CaughtChanges) -> Reason:
    return Reason(
        "share_caught_title",
        "Caught changing: {since:%-d %B} to {until:%-d %B}",
        since=caught_changes.since,
        until=caught_changes.until - timedelta(days=1),
    )


def caught_content(caught_changes: CaughtChanges) -> SharedContent:
    """A section for each change, with the sentence that changed, or the deleted text."""
    return SharedContent(
        title=caught_title(caught_changes),
        sections=tuple(_section(change) for change in caught_changes.changes),
        posts=tuple(source for change in caught_changes.changes for source in _sources(change)),
    )


def _section(described_change: DescribedChange) -> SharedSection:
    change, post_ids = described_change.change, (described_change.change.post_id,)
    if described_change.is_deletion:
        heading = Reason(
            "share_caught_deleted",
            "{channel}: deleted {at:%-d %B, %H:%M}",
            channel=described_change.channel,
            at=change.changed_at,
        )
        lines = [SharedLine(_shorten(change.before), post_ids, DELETED)]
    else:
        heading = Reason(
            "share_caught_edited",
            "{channel}: edited {at:%-d %B, %H:%M}",
            channel=described_change.channel,
            at=change.changed_at,
        )
        before, after = (
            _join(described_change.changed_line, without)
            for without in (PieceChange.ADDED, PieceChange.REMOVED)
        )
        lines = [
            SharedLine(before, post_ids, BEFORE, revision=change.revision),
            SharedLine(after, post_ids, AFTER, revision=change.revision + 1),
        ]
    if change.views:
        lines.append(SharedLine(f"{change.views:,}".replace(",", "\N{NARROW NO-BREAK SPACE}"), label=VIEWS))
    return SharedSection(heading, tuple(lines))


def _sources(described_change: DescribedChange) -> tuple[SourcePost, ...]:
    """The text before the change and the one after it; of a deleted post its last text."""
    change = described_change.change
    texts = [(change.before, change.revision)]
    if not described_change.is_deletion:
        texts.append((change.after, change.revision + 1))
    return tuple(
        SourcePost(
            post_id=change.post_id,
            channel=described_change.channel,
            link=described_change.link,
            posted_at=change.posted_at,
            text=text,
            revision=revision,
            deleted_at=change.changed_at if described_change.is_deletion else None,
        )
        for text, revision in texts
    )


def _join(pieces: Iterable[Piece], without: PieceChange) -> str:
    return " ".join("".join(piece.text for piece in pieces if piece.change is not without).split())


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_LETTERS else words[:MAX_LETTERS].rsplit(maxsplit=1)[0] + "…"
