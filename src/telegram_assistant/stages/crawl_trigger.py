"""crawl_trigger: decides which links of a post to read.

posts.tagged -> posts.crawl if there are any, else posts.enriched, so for every post one of the two.
"""

from collections.abc import Mapping, Sequence

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.posts.links import urls_of
from telegram_assistant.domain.posts.post import Json
from telegram_assistant.domain.understanding.crawling import CrawlDecision, CrawlRules, Decision, decide
from telegram_assistant.domain.understanding.pages import LinkedPage
from telegram_assistant.errors import Busy
from telegram_assistant.events import PostCrawlRequested, PostEnriched, PostTagged, Trigger
from telegram_assistant.stores.postgres.posts.posts import Posts
from telegram_assistant.stores.postgres.posts.rows import StoredPost
from telegram_assistant.stores.postgres.understanding.pages import LinkedPages
from telegram_assistant.streams.stage import stage
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()


@stage(
    consumes=PostTagged,
    emits=(PostCrawlRequested, PostEnriched),
    batch=100,
    concurrency=2,
    timeout_seconds=60,
)
async def crawl_trigger(
    events: list[PostTagged], *, posts: Posts, pages: LinkedPages, crawl_rules: CrawlRules
) -> list[PostCrawlRequested | PostEnriched]:
    """Emits one event for each post.

    A post that was tagged again because of its pictures already has its links read.
    """
    revisions = {event.post: event.revision for event in events if event.trigger is Trigger.INITIAL}
    urls_by_post = (
        await _choose_links(revisions, posts=posts, pages=pages, crawl_rules=crawl_rules) if revisions else {}
    )
    return [
        _answer(event, urls_by_post.get(event.post, ()) if event.trigger is Trigger.INITIAL else ())
        for event in events
    ]


def _answer(event: PostTagged, urls: tuple[str, ...]) -> PostCrawlRequested | PostEnriched:
    if urls:
        return PostCrawlRequested.about(
            event.post,
            event.revision,
            occurred_at=event.occurred_at,
            trigger=event.trigger,
            urls=urls,
        )
    return PostEnriched.about(
        event.post, event.revision, occurred_at=event.occurred_at, trigger=event.trigger
    )


async def _choose_links(
    revisions: Mapping[PostId, int], *, posts: Posts, pages: LinkedPages, crawl_rules: CrawlRules
) -> Mapping[PostId, tuple[str, ...]]:
    """Returns the links that are still to be read for each post.

    If something fails, the posts continue without their pages.
    """
    try:
        read_post_ids = await pages.select_read(list(revisions.items()))
        stored_posts = [
            stored_post
            for stored_post in await posts.load(
                [post_id for post_id in revisions if post_id not in read_post_ids]
            )
            if stored_post.deleted_at is None
        ]
        decisions = {
            stored_post.post.id: decisions
            for stored_post in stored_posts
            if (decisions := _decide(stored_post, crawl_rules))
        }
        urls_by_post = {
            post_id: urls
            for post_id, post_decisions in decisions.items()
            if (
                urls := tuple(
                    decision.url for decision in post_decisions if decision.verdict is CrawlDecision.READ
                )
            )
        }
        fresh_pages = (
            await pages.load_fresh(list({url for urls in urls_by_post.values() for url in urls}))
            if urls_by_post
            else {}
        )
        read_before = {
            post_id: urls for post_id, urls in urls_by_post.items() if all(url in fresh_pages for url in urls)
        }
        if decisions:
            await pages.note(
                [
                    (
                        post_id,
                        revisions[post_id],
                        _facts(post_decisions, read_before.get(post_id, ()), fresh_pages),
                    )
                    for post_id, post_decisions in decisions.items()
                ]
            )
    except Busy:
        raise
    except Exception:
        log.exception(
            "links_not_checked",
            posts=len(revisions),
            what_to_do="the posts continue without their pages; report this bug",
        )
        return {}
    return {post_id: urls for post_id, urls in urls_by_post.items() if post_id not in read_before}


def _facts(
    decisions: Sequence[Decision], urls: Sequence[str], fresh_pages: Mapping[str, LinkedPage]
) -> dict[str, Json]:
    """Returns why each link is read or not; and the pages,
    if all of them were already read for another post.
    """
    links: dict[str, Json] = {"links": {decision.url: decision.verdict.value for decision in decisions}}
    return links | ({"pages": [fresh_pages[url].as_json(url) for url in urls]} if urls else {})


def _decide(stored_post: StoredPost, crawl_rules: CrawlRules) -> tuple[Decision, ...]:
    try:
        return decide(urls_of(stored_post.post.text, stored_post.post.entities), crawl_rules)
    except Exception:
        log.exception(
            "links_not_checked",
            post_id=str(stored_post.post.id),
            what_to_do="the post continues without its pages; report this bug",
        )
        return ()
