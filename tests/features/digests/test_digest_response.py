"""A digest as programs get it."""

from datetime import UTC, datetime

from telegram_assistant.domain.digests.digest import Digest, DigestSentence, DigestStory, Novelty
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.understanding.sentence_checks import LeftOut, SentenceChecks
from telegram_assistant.features.digests.digest_response import digest_response

NOW = datetime(2026, 11, 16, tzinfo=UTC)
POST = PostId(ChannelId(77), MessageId(5))


def test_stored_words_have_plain_names_in_responses() -> None:
    sentence = DigestSentence("Four cracks.", (POST,), others_say=("5 cracks",))
    checks = SentenceChecks((LeftOut.NUMBER,), replaced=2)
    story = DigestStory(Novelty.UPDATED, "Bridge", (sentence,), ("City",), NOW, (POST,), checks=checks)
    digest = Digest(NOW, NOW, (story,), beyond=3)
    response = digest_response(digest, digest_id=None, tenant_url="", say=str).model_dump(mode="json")
    item = response["items"][0]
    assert response["more_count"] == 3
    assert (response["minutes"], item["folder"]) == (1, None)
    assert (item["novelty"], item["replaced_count"]) == ("updated", 2)
    assert item["rejected_reasons"] == [str(LeftOut.NUMBER.reason)]
    assert item["sentences"][0]["conflicting_values"] == ["5 cracks"]
