"""A digest as people get it outside of the pages: a letter, an entry of a feed."""

from dataclasses import dataclass
from functools import partial
from uuid import UUID
from zoneinfo import ZoneInfo

from telegram_assistant.documents.document import BlockKind, Document, block
from telegram_assistant.documents.writing import write_fragment, write_html, write_plain
from telegram_assistant.domain.digests.digest import Digest, StoredDigest
from telegram_assistant.domain.ids import PostId
from telegram_assistant.features.digests.document import digest_document, digest_subject, digest_title
from telegram_assistant.outbound.mail import Letter
from telegram_assistant.reasons import Reason
from telegram_assistant.translation import translate


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestReader:
    """The reader of a digest. `tenant_url` is the address under which the pages of the tenant begin."""

    tenant_url: str
    language: str
    zone: ZoneInfo


def letter_of_digest(
    stored_digest: StoredDigest, *, letter_id: UUID, reader: DigestReader, unsubscribe_url: str
) -> Letter:
    """The digest as a mail, in HTML and as plain text."""
    language, address = reader.language, f"{reader.tenant_url}/digest/plan"
    footers = (
        Reason("digest_mail_footer", "Change digest times: {address}", address=address),
        Reason("mail_unsubscribe", "Unsubscribe without logging in: {link}", link=unsubscribe_url),
    )
    document = (
        *_document(stored_digest.digest, reader),
        *(block(BlockKind.NOTE, translate(footer, language)) for footer in footers),
    )
    return Letter(
        letter_id=letter_id,
        subject=translate(digest_subject(stored_digest.digest), language),
        text=write_plain(document),
        html=write_html(document, language=language),
        written_at=stored_digest.made_at,
        unsubscribe_url=unsubscribe_url,
    )


def title_text_and_html(digest: Digest, *, reader: DigestReader) -> tuple[str, str, str]:
    """The title of a feed's entry, and its content as plain text and as HTML."""
    title, document = (
        translate(digest_title(digest), reader.language, zone=reader.zone),
        _document(digest, reader)[1:],
    )
    return title, write_plain(document), write_fragment(document)


def _document(digest: Digest, reader: DigestReader) -> Document:
    page = partial(_page, reader.tenant_url)
    return digest_document(
        digest,
        language=reader.language,
        zone=reader.zone,
        story_link=partial(page, "story"),
        post_link=partial(page, "post"),
    )


def _page(tenant_url: str, kind: str, post_id: PostId) -> str:
    return f"{tenant_url}/{kind}/{post_id}"
