"""Copies that leave the page: a field to copy from, the bare text for scripts, and files."""

import csv
import hashlib
import io
import re
from datetime import UTC, datetime, timedelta

import pytest

from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.posts.landing import Claim
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.factories import follow_long_ago, make_channel, make_page, make_post
from testkit.web_clients import Browser
from tests.conftest import Admin
from tests.web.stories.test_stories import BRIDGE, bridge, land_story_post

BY_SCRIPT = {"HX-Request": "true"}
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC")


async def test_a_story_is_copied_with_channel_time_link_revision_and_hash_of_its_sources(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    page = (await owner.open(f"./story/{first}")).text
    assert f"/story/{first}/copy?format=markdown" in page
    answer = await owner.open(f"./story/{first}/copy?format=markdown", **BY_SCRIPT)
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith("# Мост через Охту закрыли для грузовиков до 1 апреля")
    source = next(line for line in answer.text.splitlines() if line.startswith("- \\[1\\]"))
    assert f"[Городские новости](https://t.me/c/{first})" in source
    assert TIME.search(source)
    assert "revision 1" in source
    assert hashlib.sha256(BRIDGE.encode()).hexdigest() in source


@pytest.mark.parametrize(
    ("copy_format", "words"), [("text", "Охту"), ("markdown", "SHA-256"), ("link", "http")]
)
async def test_without_a_script_the_copy_stands_in_a_field(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId, copy_format: str, words: str
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    page = (await owner.open(f"./story/{first}/copy?format={copy_format}")).text
    field = page[page.index("<textarea") : page.index("</textarea>")]
    assert "readonly" in field
    assert words in field


async def test_posts_of_a_story_are_a_file_that_runs_nothing(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    post_id = await land_story_post(
        system, admin, tenant_id, '=HYPERLINK("http://evil.example")', title="+Формулы"
    )
    answer = await owner.open(f"./post/{post_id}/copy?format=csv")
    assert (
        answer.headers["content-disposition"]
        == f'attachment; filename="post-{str(post_id).replace("/", "-")}.csv"'
    )
    names, row = csv.reader(io.StringIO(answer.text.removeprefix("\ufeff"), newline=""))
    cells = dict(zip(names, row, strict=True))
    assert cells["channel"] == "'+Формулы"
    assert cells["text"] == '\'=HYPERLINK("http://evil.example")'
    json_copy = (await owner.open(f"./post/{post_id}/copy?format=json")).json()
    assert json_copy["posts"][0]["text"] == '=HYPERLINK("http://evil.example")', (
        "programs get the text itself"
    )
    assert json_copy["posts"][0]["post_id"] == str(post_id)


async def test_a_quiet_change_is_copied_with_both_texts_and_both_hashes(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    channel_id = await make_channel(system, title="Городские новости")
    await follow_long_ago(system, admin, tenant_id, channel_id)
    posted_at = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
    for text, edited_at in (("Откроют в марте", None), ("Откроют в апреле", datetime.now(UTC))):
        made = make_post(channel_id=channel_id, text=text, posted_at=posted_at, edited_at=edited_at)
        await system.landing.land(make_page(made), Claim(channel_id, 0))
    page = (await owner.open("./changes")).text
    assert f"/post/{made.id}/copy?revision=1&amp;format=markdown" in page
    copied = (await owner.open(f"./post/{made.id}/copy?revision=1&format=markdown", **BY_SCRIPT)).text
    assert copied.index("> Откроют в марте") < copied.index("> Откроют в апреле")
    for text in ("Откроют в марте", "Откроют в апреле"):
        assert hashlib.sha256(text.encode()).hexdigest() in copied
    assert (await owner.open(f"./post/{made.id}/copy?revision=7&format=text")).status_code == 404


async def test_an_answer_carries_its_copies_and_its_posts_as_files(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    page = (await owner.open("./ask?q=Для+кого+закрыли+мост+через+Охту%3F")).text
    copied = page[page.index('id="copy-markdown"') :]
    assert hashlib.sha256(BRIDGE.encode()).hexdigest() in copied[: copied.index("</textarea>")]
    assert f"/copy?post={str(first).replace('/', '%2F')}&amp;format=csv" in page
    assert str(first) in (await owner.open(f"./copy?post={first}&format=json")).text


@pytest.mark.parametrize(
    "wrong", ["format=exe", "", "format=text&revision=x", "format=text&revision=99999999999"]
)
async def test_an_unknown_format_or_revision_is_not_found(
    owner: Browser, system: SystemStores, admin: Admin, tenant_id: TenantId, wrong: str
) -> None:
    first, _ = await bridge(system, admin, tenant_id)
    assert (await owner.open(f"./post/{first}/copy?{wrong}")).status_code == 404
