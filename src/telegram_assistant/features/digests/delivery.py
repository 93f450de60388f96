"""A digest as receivers get it: a letter, the JSON of a webhook, an entry of a feed."""

from dataclasses import dataclass
from functools import partial
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic_core import to_json

from telegram_assistant.documents.document import BlockKind, Document, block
from telegram_assistant.documents.writing import write_fragment, write_html, write_plain
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.people.digest import Digest, DigestStory, StoredDigest
from telegram_assistant.features.digests.document import digest_document, digest_subject, digest_title
from telegram_assistant.features.watches.mail import Letter
from telegram_assistant.reasons import Reason
from telegram_assistant.translation import say


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestReader:
    """For whom a digest is written. `here` is where the pages of the tenant begin."""

    here: str
    language: str
    zone: ZoneInfo


def letter_of_digest(stored: StoredDigest, *, letter_id: UUID, reader: DigestReader) -> Letter:
    """The digest as a mail, in HTML and as plain text."""
    language, address = reader.language, f"{reader.here}/digest/plan"
    footer = Reason("digest_mail_footer", "To change when digests come, or to stop them: {address}", address=address)
    document = (*_document(stored.digest, reader), block(BlockKind.NOTE, say(footer, language)))
    return Letter(
        letter_id=letter_id,
        subject=say(digest_subject(stored.digest), language),
        text=write_plain(document),
        html=write_html(document, language=language),
        written_at=stored.made_at,
    )


def webhook_body(stored: StoredDigest, *, delivery_id: UUID, attempt: int, reader: DigestReader) -> bytes:
    """The JSON that a webhook gets: the digest as the API shows it, with the id of the delivery."""
    digest = stored.digest
    return to_json(
        {
            "id": delivery_id,
            "type": "digest",
            "attempt": attempt,
            "digest": {
                "digest_id": stored.digest_id,
                "since": digest.since,
                "until": digest.until,
                "items": [_story(one, reader) for one in digest.stories],
                "beyond": digest.beyond,
                "link": f"{reader.here}/digest/{stored.digest_id}",
            },
        }
    )


def title_text_and_html(digest: Digest, *, reader: DigestReader) -> tuple[str, str, str]:
    """What an entry of a feed says, as plain text and as HTML."""
    title, document = say(digest_title(digest), reader.language, zone=reader.zone), _document(digest, reader)[1:]
    return title, write_plain(document), write_fragment(document)


def _document(digest: Digest, reader: DigestReader) -> Document:
    page = partial(_page, reader.here)
    return digest_document(digest, language=reader.language, zone=reader.zone, story_link=partial(page, "story"), post_link=partial(page, "post"))


def _page(here: str, kind: str, post_id: PostId) -> str:
    return f"{here}/{kind}/{post_id}"


def _story(one: DigestStory, reader: DigestReader) -> dict[str, object]:
    return {
        "novelty": one.novelty,
        "headline": one.headline,
        "link": _page(reader.here, "story", one.story_id),
        "sentences": [{"text": said.text, "post_ids": [str(post) for post in said.posts], "others_say": said.others_say} for said in one.sentences],
        "channels": one.channels,
        "first_posted_at": one.first_posted_at,
        "post_ids": [str(post) for post in one.posts],
        "model": one.model,
        "replaced": one.checks.replaced,
        "left_out": [say(reason, reader.language) for reason in one.checks.reasons],
    }
