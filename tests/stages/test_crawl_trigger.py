"""crawl_trigger: one event for every post, whatever is in it."""

import json
from datetime import timedelta
from uuid import uuid4

import pytest

from telegram_assistant.assembly import crawl_rules
from telegram_assistant.domain.ids import ChannelId, MessageId, PostId
from telegram_assistant.domain.understanding.crawling import CrawlRules
from telegram_assistant.domain.understanding.pages import LinkedPage, PageStatus
from telegram_assistant.events import PostCrawlRequested, PostEnriched, PostTagged, Trigger
from telegram_assistant.settings import CrawlSettings, read_group
from telegram_assistant.stages.crawl_trigger import crawl_trigger
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import make_page, make_post
from tests.conftest import Admin
from tests.stages.reading import post_with, tagged_event


async def urls_wanted(
    system: SystemStores, *events: PostTagged, rules: CrawlRules | None = None
) -> list[tuple[str, ...]]:
    emitted = await crawl_trigger(
        list(events), posts=system.posts, pages=system.pages, crawl_rules=rules or CrawlRules()
    )
    assert isinstance(emitted, list)
    assert [(event.post, event.trigger) for event in emitted] == [
        (event.post, event.trigger) for event in events
    ]
    return [event.urls if isinstance(event, PostCrawlRequested) else () for event in emitted]


async def test_the_links_worth_reading_are_asked_for(system: SystemStores) -> None:
    post = await post_with(
        system, "https://news.example/a?utm_source=tg", "https://t.me/x/1", "https://news.example/b.pdf"
    )
    assert await urls_wanted(system, tagged_event(post)) == [("https://news.example/a",)]


async def test_every_post_is_answered_for(system: SystemStores) -> None:
    plain, linked = await post_with(system), await post_with(system, "https://news.example/a")
    gone = PostId(ChannelId(987654320), MessageId(1))
    assert await urls_wanted(system, tagged_event(plain), tagged_event(linked), tagged_event(gone)) == [
        (),
        ("https://news.example/a",),
        (),
    ]


async def test_a_post_without_a_link_to_read_takes_no_detour(system: SystemStores) -> None:
    events = [tagged_event(await post_with(system, *links)) for links in ((), ("https://news.example/a",))]
    emitted = await crawl_trigger(events, posts=system.posts, pages=system.pages, crawl_rules=CrawlRules())
    assert isinstance(emitted, list)
    assert list(map(type, emitted)) == [PostEnriched, PostCrawlRequested]


async def test_a_post_tagged_again_for_its_pictures_is_not_read_again(system: SystemStores) -> None:
    post = await post_with(system, "https://news.example/a")
    assert await urls_wanted(system, tagged_event(post, Trigger.VISION_RETAG)) == [()]


async def test_both_kinds_of_events_about_one_post_keep_their_own_answer(system: SystemStores) -> None:
    post = await post_with(system, "https://news.example/a")
    assert await urls_wanted(system, tagged_event(post, Trigger.VISION_RETAG), tagged_event(post)) == [
        (),
        ("https://news.example/a",),
    ]


async def test_links_that_were_read_for_this_revision_are_not_asked_for_again(system: SystemStores) -> None:
    post = await post_with(system, "https://news.example/a")
    await system.pages.note([(post, 1, {"pages": []})])
    assert await urls_wanted(system, tagged_event(post)) == [()]


async def test_pages_that_were_read_for_another_post_are_noted_at_once(
    system: SystemStores, admin: Admin
) -> None:
    here, there = f"https://news.example/{uuid4()}", f"https://news.example/{uuid4()}"
    await system.pages.claim([here], owner="another", lease=timedelta(minutes=1))
    await system.pages.finish(
        here,
        LinkedPage(url=here, status=PageStatus.READ, title="Мост", text="Открыт."),
        owner="another",
        attempt_count=0,
    )
    known, half_known = await post_with(system, here), await post_with(system, here, there)
    assert await urls_wanted(system, tagged_event(known), tagged_event(half_known)) == [(), (here, there)]
    data = await admin.fetchval(
        "SELECT data FROM post_enrichment WHERE channel_id = $1 AND kind = 'crawl'", known.channel_id
    )
    assert json.loads(data)["pages"] == [
        {"url": here, "status": "read", "title": "Мост", "excerpt": "Открыт."}
    ]


async def test_a_deleted_post_is_passed_on_without_links(system: SystemStores, admin: Admin) -> None:
    post = await post_with(system, "https://news.example/a")
    await admin.execute("UPDATE posts SET deleted_at = now() WHERE channel_id = $1", post.channel_id)
    assert await urls_wanted(system, tagged_event(post)) == [()]


async def test_why_a_link_is_read_or_not_is_written_down(system: SystemStores, admin: Admin) -> None:
    post = await post_with(system, "https://news.example/a", "https://t.me/x/1")
    await urls_wanted(system, tagged_event(post))
    data = await admin.fetchval(
        "SELECT data FROM post_enrichment WHERE channel_id = $1 AND kind = 'crawl' AND tier = 'local'",
        post.channel_id,
    )
    assert json.loads(data) == {"links": {"https://news.example/a": "read", "https://t.me/x/1": "telegram"}}


async def test_an_edit_brings_its_new_links_and_forgets_what_was_known_of_the_old(
    system: SystemStores, admin: Admin
) -> None:
    post = await post_with(system, "https://news.example/a")
    await urls_wanted(system, tagged_event(post))
    edited = make_post(channel_id=post.channel_id, text="Без ссылок", edited_at=make_post().posted_at)
    await system.landing.land(make_page(edited), Claim(post.channel_id, 0))
    await system.pages.note([(post, 2, {"links": {}})])
    await system.pages.note([(post, 1, {"pages": ["old"]})])
    row = await admin.fetchrow(
        "SELECT data, revision FROM post_enrichment WHERE channel_id = $1 AND kind = 'crawl'", post.channel_id
    )
    assert row is not None
    assert (json.loads(row["data"]), row["revision"]) == ({"links": {}}, 2)


def rules_with(**environ: str) -> CrawlRules:
    return crawl_rules(read_group(CrawlSettings, environ))


@pytest.mark.turns("CRAWL_ENABLED")
async def test_reading_can_be_switched_off_and_every_post_is_still_answered_for(system: SystemStores) -> None:
    post = await post_with(system, "https://news.example/a")
    assert await urls_wanted(system, tagged_event(post), rules=rules_with(CRAWL_ENABLED="false")) == [()]


@pytest.mark.turns("CRAWL_ALLOW")
async def test_an_operator_names_the_only_sites_to_read(system: SystemStores) -> None:
    post = await post_with(system, "https://news.example/a", "https://m.other.example/b")
    assert await urls_wanted(
        system, tagged_event(post), rules=rules_with(CRAWL_ALLOW=" Other.example , third.example")
    ) == [("https://m.other.example/b",)]


@pytest.mark.turns("CRAWL_DENY")
async def test_an_operator_names_sites_not_to_read(system: SystemStores) -> None:
    post = await post_with(system, "https://news.example/a", "https://m.other.example/b")
    assert await urls_wanted(system, tagged_event(post), rules=rules_with(CRAWL_DENY="other.example")) == [
        ("https://news.example/a",)
    ]


@pytest.mark.turns("CRAWL_MAX_LINKS")
async def test_an_operator_says_how_many_links_are_read(system: SystemStores) -> None:
    post = await post_with(system, "https://news.example/a", "https://news.example/b")
    assert await urls_wanted(system, tagged_event(post), rules=rules_with(CRAWL_MAX_LINKS="1")) == [
        ("https://news.example/a",)
    ]
