"""Posts that are more than text and files: no card is empty,
and nothing that strangers wrote becomes markup.
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.posts.post import PostKind
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import follow_long_ago, fresh_number, make_channel, make_page, make_post
from testkit.web_clients import Browser
from tests.conftest import Admin

HOSTILE = "<script>alert(1)</script>"
POLL = {
    "question": "Snow?",
    "answers": [{"text": "yes", "voters": 30}, {"text": HOSTILE, "voters": 10}],
    "total_voters": 40,
    "closed": True,
}
KINDS: dict[str, tuple[PostKind, dict[str, Any], tuple[str, ...]]] = {
    "a poll": (PostKind.POLL, {"poll": POLL}, ("Snow?", "40 votes", "closed", 'width="33.3"')),
    "a poll without answers": (
        PostKind.POLL,
        {"poll": {"question": "Snow?", "answers": []}},
        ("Snow?", "poll"),
    ),
    "a new title": (
        PostKind.SERVICE,
        {"service": {"action": "chat_edit_title", "title": HOSTILE}},
        ("the channel has a new title",),
    ),
    "an unknown action": (
        PostKind.SERVICE,
        {"service": {"action": "boost_apply"}},
        ("a service message of the channel",),
    ),
    "a place": (PostKind.OTHER, {"media": {"kind": "venue", "title": HOSTILE}}, ("a venue",)),
    "something unknown": (
        PostKind.OTHER,
        {"media": {"kind": "hologram"}},
        ("content that only Telegram can show",),
    ),
    "something newer": (
        PostKind.UNREADABLE,
        {"media": {"kind": "unsupported"}},
        ("newer than this program",),
    ),
    "a picture whose file is not known yet": (PostKind.PHOTO, {"media": {"kind": "photo"}}, ("picture",)),
}


async def land_kind(
    system: SystemStores, admin: Admin, tenant_id: TenantId, kind: PostKind, facts: dict[str, Any]
) -> ChannelId:
    channel_id = await make_channel(system)
    await follow_long_ago(system, admin, tenant_id, channel_id)
    post = make_post(
        channel_id=channel_id,
        message_id=1,
        text="",
        kind=kind,
        facts=facts,
        posted_at=datetime.now(UTC).replace(microsecond=0),
    )
    await system.landing.land(make_page(post), Claim(channel_id, 0))
    return channel_id


@pytest.mark.parametrize("name", KINDS)
async def test_a_card_says_what_the_post_is(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId, name: str
) -> None:
    kind, facts, words = KINDS[name]
    channel_id = await land_kind(system, admin, tenant_id, kind, facts)
    for path in ("./feed", f"./post/{channel_id}/1"):
        answer = await owner.open(path)
        assert answer.status_code == 200
        assert [word for word in words if word not in answer.text] == []
        assert HOSTILE not in answer.text


async def test_a_covered_picture_is_shown_when_it_is_asked_for(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await land_kind(
        system, admin, tenant_id, PostKind.PHOTO, {"media": {"kind": "photo", "spoiler": True}}
    )
    await admin.execute(
        "INSERT INTO post_media (channel_id, message_id, media_id, kind, state) "
        "VALUES ($1, 1, $2, 'photo', 'wanted')",
        channel_id,
        fresh_number(),
    )
    page = (await owner.open("./feed")).text
    assert page.index('<details class="cover">') < page.index("Picture (downloading)")
