"""Collects what a copy of a story, a post, an answer or a digest says."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from telegram_assistant.domain.digests.digest import Digest, DigestStory
from telegram_assistant.domain.ids import ChannelId, PostId
from telegram_assistant.domain.posts.links import link_to
from telegram_assistant.domain.sharing.content import SharedContent, SharedLine, SharedSection, SourcePost
from telegram_assistant.domain.stories.visible import VisiblePost
from telegram_assistant.errors import Missing
from telegram_assistant.features.ask.answers import SINCE_THEN, Answer, AnswerSentence
from telegram_assistant.features.ask.days import write_dated
from telegram_assistant.features.digests.digests import NO_DIGEST
from telegram_assistant.features.digests.document import digest_title
from telegram_assistant.features.posts.posts import NO_POST, load_versions, post_in_full
from telegram_assistant.features.stories.stories import FullStory, story_around
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.stores.postgres.feed.person_feed import Reading, ReadingPost
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores
from telegram_assistant.summaries.values import CitedSentence, Dispute, StorySummary

PICTURE_ONLY = Reason("share_picture", "Picture without text")
BEFORE = Reason("share_before", "before")
AFTER = Reason("share_after", "after")
LATEST = Reason("share_latest", "latest")
REPORTED = Reason("share_reported", "Reported")
THEY_DIFFER = Reason("share_differ", "They differ")
ADDITIONS = Reason("share_additions", "Additions")


async def share_story(
    post_id: PostId,
    *,
    stores: TenantStores,
    language: str | None = None,
    excluded_channel_ids: Collection[ChannelId] = (),
) -> SharedContent:
    """The story that a post belongs to: what it says, and all its posts, without those of some channels.

    Raises Missing if the post is not visible, or is in no story.
    """
    return story_content(
        await story_around(
            post_id, stores=stores, language=language, excluded_channel_ids=excluded_channel_ids
        )
    )


def story_content(full: FullStory) -> SharedContent:
    summary = full.summary
    title = summary.headline.text if summary and summary.state_at else full.telling.headline
    sections = list(_summary_sections(summary, title)) if summary else []
    return SharedContent(
        title=quote(title) if title else PICTURE_ONLY,
        title_posts=_title_posts(full, title),
        sections=tuple(section for section in sections if section.lines),
        posts=tuple(_story_source(post) for post in full.story.entries),
    )


def _title_posts(full: FullStory, title: str) -> tuple[PostId, ...]:
    headline = full.summary.headline if full.summary else None
    if headline and title and headline.text.startswith(title):
        return headline.posts
    saying = (post.post_id for post in full.story.entries if title and _is_said(title, [_squeeze(post.text)]))
    return tuple(saying)[:1]


async def share_post(post_id: PostId, *, stores: TenantStores, revision: int | None = None) -> SharedContent:
    """The text of a post, word for word; with a revision, that text and the one that replaced it.

    Raises Missing if the post or the revision is not visible.
    """
    detail = (await post_in_full(post_id, stores=stores)).detail
    source = SourcePost(
        post_id=post_id,
        channel=detail.title,
        link=link_to(post_id, detail.username),
        posted_at=detail.stored.post.posted_at,
        text=detail.stored.post.text,
        revision=detail.stored.revision,
        deleted_at=detail.stored.deleted_at,
    )
    title = Reason(
        "share_post_title", "{channel}, post {number}", channel=detail.title, number=post_id.message_id
    )
    if revision is None:
        quoted_line = SharedLine(source.text, (post_id,), is_quote=True)
        return SharedContent(
            title=title,
            sections=(SharedSection(None, (quoted_line,) if source.text else ()),),
            posts=(source,),
        )
    versions = {
        described_version.version.revision: described_version.version
        for described_version in await load_versions(post_id, stores=stores)
    }
    if revision not in versions:
        raise Missing(NO_POST)
    texts = [replace(source, text=versions[revision].text, revision=revision, deleted_at=None)]
    if revision + 1 in versions:
        texts.append(replace(source, text=versions[revision + 1].text, revision=revision + 1))
    lines = tuple(
        SharedLine(text.text, (post_id,), label, is_quote=True)
        for label, text in zip((BEFORE, AFTER), texts, strict=False)
    )
    return SharedContent(title=title, sections=(SharedSection(None, lines),), posts=tuple(texts))


async def share_digest(
    digest_id: UUID, *, own: PersonStores, excluded_channel_ids: Collection[ChannelId] = ()
) -> SharedContent:
    """A digest of the person, without what their channels no longer show, and without the posts of some
    channels. It is not marked as seen.

    Raises Missing if the person has no such digest.
    """
    stored_digest = await own.digests.find(digest_id)
    if stored_digest is None:
        raise Missing(NO_DIGEST)
    return await digest_content(
        stored_digest.digest, reading=own.reading, excluded_channel_ids=excluded_channel_ids
    )


async def digest_content(
    digest: Digest, *, reading: Reading, excluded_channel_ids: Collection[ChannelId] = ()
) -> SharedContent:
    post_ids = [
        post_id
        for story in digest.stories
        for post_id in story.posts
        if post_id.channel_id not in excluded_channel_ids
    ]
    visible_posts = {post.post_id: post for post in await load_sources(post_ids, reading=reading)}
    sections = [section for story in digest.stories if (section := digest_section(story, visible_posts))]
    cited_post_ids = {post_id for section in sections for line in section.lines for post_id in line.posts}
    return SharedContent(
        title=digest_title(digest),
        sections=tuple(sections),
        posts=tuple(post for post in visible_posts.values() if post.post_id in cited_post_ids),
    )


async def share_posts(post_ids: Sequence[PostId], *, reading: Reading) -> SharedContent:
    """Chosen posts, word for word. Raises Missing if none of them is visible."""
    posts = await load_sources(post_ids, reading=reading)
    if not posts:
        raise Missing(NO_POST)
    title = Reason("share_posts_title", "{count} post", "{count} posts", count=len(posts))
    sections = [
        SharedSection(quote(post.channel), (SharedLine(post.text, (post.post_id,), is_quote=True),))
        for post in posts
    ]
    return SharedContent(title=title, sections=tuple(sections), posts=posts)


async def answer_content(answer: Answer, *, reading: Reading, language: str) -> SharedContent:
    """The shared page of an answer, in the words of its language."""
    sources = await load_sources((passage.post_id for passage in answer.passages), reading=reading)
    visible_ids = {post.post_id for post in sources}

    def line_of(sentence: AnswerSentence, label: Reason | None = None) -> SharedLine:
        post_ids = tuple(answer.passages[passage_index].post_id for passage_index in sentence.passages)
        return SharedLine(
            write_dated(sentence, language),
            tuple(post_id for post_id in post_ids if post_id in visible_ids),
            label,
        )

    lines = [line_of(sentence) for sentence in answer.sentences]
    if answer.newest is not None:
        lines.append(line_of(answer.newest, SINCE_THEN))
    passages = [
        SharedLine(write_dated(passage, language), (passage.post_id,))
        for passage in answer.passages
        if passage.post_id in visible_ids
    ]
    return SharedContent(
        title=quote(answer.question),
        sections=(SharedSection(answer.words, tuple(lines or passages)),),
        posts=sources,
    )


async def load_sources(post_ids: Iterable[PostId], *, reading: Reading) -> tuple[SourcePost, ...]:
    """Those of these posts that are visible now, the first published first."""
    posts = await reading.some(tuple(dict.fromkeys(post_ids)))
    return tuple(sorted(map(_reading_source, posts), key=lambda post: (post.posted_at, post.post_id)))


def _summary_sections(summary: StorySummary, title: str) -> Iterator[SharedSection]:
    heading_lines = []
    if summary.state_at is not None and summary.before is not None:
        heading_lines.append(SharedLine(summary.before.text, summary.before.posts, BEFORE))
    if summary.latest is not None:
        heading_lines.append(SharedLine(summary.latest.text, summary.latest.posts, LATEST))
    yield SharedSection(None, tuple(heading_lines))
    yield SharedSection(
        REPORTED, tuple(_cited_line(sentence) for sentence in summary.known if sentence.text != title)
    )
    yield SharedSection(THEY_DIFFER, tuple(line for dispute in summary.disputed for line in _claims(dispute)))
    yield SharedSection(
        ADDITIONS,
        tuple(
            replace(_cited_line(addition.sentence), label=quote(addition.channel))
            for addition in summary.added
        ),
    )


def _cited_line(sentence: CitedSentence) -> SharedLine:
    return SharedLine(sentence.text, sentence.posts)


def _claims(dispute: Dispute) -> Iterator[SharedLine]:
    yield from (SharedLine(claim.number, claim.posts) for claim in (dispute.stands, *dispute.others))


def digest_section(story: DigestStory, visible: Mapping[PostId, SourcePost]) -> SharedSection | None:
    """The story as far as visible posts say it; None if nothing is left."""
    is_whole = all(post_id in visible for post_id in story.posts)
    if story.model and not is_whole:
        return None
    texts = [_squeeze(visible[post_id].text) for post_id in story.posts if post_id in visible]
    lines = [
        SharedLine(sentence.text, cited_post_ids)
        for sentence in story.sentences
        if (cited_post_ids := tuple(post_id for post_id in sentence.posts if post_id in visible))
        and (is_whole or _is_said(sentence.text, texts))
    ]
    headline = story.headline if is_whole or _is_said(story.headline, texts) else ""
    if not headline and not lines:
        return None
    if story.before and (is_whole or _is_said(story.before, texts)):
        lines.insert(0, SharedLine(story.before, label=BEFORE))
    if not lines:
        lines = [SharedLine(headline, tuple(post_id for post_id in story.posts if post_id in visible)[:1])]
    return SharedSection(quote(headline or lines[0].text), tuple(lines))


def _is_said(sentence: str, texts: Collection[str]) -> bool:
    words = _squeeze(sentence).rstrip(".…!?")
    return any(words in text for text in texts)


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def _story_source(post: VisiblePost) -> SourcePost:
    return SourcePost(
        post_id=post.post_id,
        channel=post.channel,
        link=post.link,
        posted_at=post.posted_at,
        text=post.text,
        revision=post.revision,
        deleted_at=post.deleted_at,
        is_private=post.is_private,
    )


def _reading_source(post: ReadingPost) -> SourcePost:
    stored_post = post.stored.post
    return SourcePost(
        post_id=stored_post.id,
        channel=post.channel,
        link=link_to(stored_post.id, post.username),
        posted_at=stored_post.posted_at,
        text=stored_post.text,
        revision=post.stored.revision,
        deleted_at=post.stored.deleted_at,
        is_private=post.is_private,
    )
