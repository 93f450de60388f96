"""A copy of a digest says only what its reader's channels still show."""

from datetime import UTC, datetime

from telegram_assistant.domain.digests.digest import DigestSentence, DigestStory, Novelty
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.sharing.content import SourcePost
from telegram_assistant.features.sharing.content import digest_section
from telegram_assistant.reasons import quote

NOW = datetime(2026, 11, 15, 8, tzinfo=UTC)
FIRST, SECOND = (PostId(ChannelId(number), MessageId(1)) for number in (1, 2))
STORY = DigestStory(
    Novelty.NEW,
    "The bridge is closed",
    (
        DigestSentence("The bridge is closed to trucks.", (FIRST, SECOND)),
        DigestSentence("A diver found twelve cracks.", (FIRST,)),
    ),
    ("City news", "Roads today"),
    NOW,
    (FIRST, SECOND),
)


def source(post_id: PostId, text: str) -> SourcePost:
    return SourcePost(post_id=post_id, channel="City news", link="", posted_at=NOW, text=text)


WHOLE = {
    FIRST: source(FIRST, "The bridge is closed to trucks. A diver found twelve cracks."),
    SECOND: source(SECOND, "The  bridge is closed to trucks."),
}


def test_a_whole_story_says_everything() -> None:
    section = digest_section(STORY, WHOLE)
    assert section is not None
    assert section.heading == quote("The bridge is closed")
    assert [line.text for line in section.lines] == [sentence.text for sentence in STORY.sentences]


def test_a_sentence_that_only_an_erased_post_said_is_gone() -> None:
    section = digest_section(STORY, {SECOND: WHOLE[SECOND]})
    assert section is not None
    assert [(line.text, line.posts) for line in section.lines] == [
        ("The bridge is closed to trucks.", (SECOND,))
    ]


def test_a_headline_that_only_an_erased_post_said_is_gone() -> None:
    other = {SECOND: source(SECOND, "Trucks take the detour.")}
    assert digest_section(STORY, other) is None
    assert digest_section(STORY, {}) is None


def test_what_a_model_wrote_from_an_erased_post_is_gone() -> None:
    written = DigestStory(
        Novelty.NEW, "Bridge shut", STORY.sentences, STORY.channels, NOW, STORY.posts, model="gigachat"
    )
    assert digest_section(written, WHOLE) is not None
    assert digest_section(written, {SECOND: WHOLE[SECOND]}) is None
