"""crawl_trigger: decide which links of a post are worth reading. posts.tagged -> posts.crawl, for every post."""

from collections.abc import Mapping

from telegram_assistant.domain.crawling import CrawlRules, Decision, Verdict, decide
from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.links import urls_of
from telegram_assistant.errors import Busy
from telegram_assistant.events import PostCrawlRequested, PostTagged, Trigger
from telegram_assistant.stores.postgres.pages import Pages
from telegram_assistant.stores.postgres.posts import Posts
from telegram_assistant.stores.postgres.rows import StoredPost
from telegram_assistant.streams.stage import stage
from telegram_assistant.telemetry.logging import get_logger

log = get_logger()


@stage(consumes=PostTagged, emits=PostCrawlRequested, batch=100, concurrency=2, timeout_seconds=60)
async def crawl_trigger(events: list[PostTagged], *, posts: Posts, pages: Pages, crawl_rules: CrawlRules) -> list[PostCrawlRequested]:
    """Total: one event for each. A post that was tagged again for its pictures has had its links read."""
    wanted = {event.post: event.revision for event in events if event.trigger is Trigger.INITIAL}
    decisions = await _decided(wanted, posts=posts, pages=pages, crawl_rules=crawl_rules) if wanted else {}
    return [
        PostCrawlRequested.about(
            event.post,
            event.revision,
            occurred_at=event.occurred_at,
            trigger=event.trigger,
            urls=tuple(one.url for one in decisions.get(event.post, ()) if one.verdict is Verdict.READ) if event.trigger is Trigger.INITIAL else (),
        )
        for event in events
    ]


async def _decided(wanted: Mapping[PostId, int], *, posts: Posts, pages: Pages, crawl_rules: CrawlRules) -> Mapping[PostId, tuple[Decision, ...]]:
    """What to read for each post; whatever goes wrong, the post goes on without its pages."""
    try:
        done = await pages.read_for(list(wanted.items()))
        stored = [one for one in await posts.load([post for post in wanted if post not in done]) if one.deleted_at is None]
        decisions = {one.post.id: decisions for one in stored if (decisions := _decide(one, crawl_rules))}
        noted = [(post, wanted[post], {"links": {one.url: one.verdict.value for one in found}}) for post, found in decisions.items()]
        if noted:
            await pages.note(noted)
    except Busy:
        raise
    except Exception:
        log.exception("links_not_judged", posts=len(wanted), what_to_do="the posts go on without their pages; report it")
        return {}
    return decisions


def _decide(stored: StoredPost, crawl_rules: CrawlRules) -> tuple[Decision, ...]:
    try:
        return decide(urls_of(stored.post.text, stored.post.entities), crawl_rules)
    except Exception:
        log.exception("links_not_judged", post_id=str(stored.post.id), what_to_do="the post goes on without its pages; report it")
        return ()
