"""Every text of the pages has its Russian, and a Russian page says nothing in English,
whatever went wrong.
"""

import re
import tomllib
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.stores.postgres.stores import SystemStores
from testkit.checkouts import CHECKOUT
from testkit.message_catalogue import MESSAGES, declared_messages
from testkit.web_clients import member_browser, open_browser
from tests.conftest import Admin
from tests.web.feed.test_feed import make_followed

OURS = {
    "Unofficial",
    "Telegram",
    "Assistant",
    "English",
    "OCR",
    "Neo4j",
    "PostgreSQL",
    "Redis",
    "my",
    "telegram",
    "org",
}
"""Names, which every language writes alike."""
REFUSED = ("/members", "/post/1/1", "/media/1/1/1", "/feed?after=wrong", "/live?since=wrong", "/nothing")
INLINE = re.compile(r"<script(?![^>]*\ssrc=)|\sstyle=|\son\w+=|<style|hx-on|javascript:", re.IGNORECASE)


def test_every_text_has_its_russian_with_all_plural_forms() -> None:
    catalogue = read_po(BytesIO((CHECKOUT / MESSAGES).read_bytes()), locale="ru")
    declared = {
        (message if isinstance(message, str) else message[0], context)
        for _, message, context in declared_messages()
    }
    wrong = []
    for name, context in declared:
        message = catalogue.get(name, context)
        strings = (
            []
            if message is None
            else [message.string]
            if isinstance(message.string, str)
            else list(message.string or ())
        )
        if message is None or not strings or not all(strings) or message.fuzzy or list(message.check()):
            wrong.append(name)
    assert wrong == []


@pytest.mark.parametrize(
    "template",
    sorted((CHECKOUT / "src/telegram_assistant/web/templates").glob("*.html")),
    ids=lambda device: device.name,
)
def test_no_template_has_inline_scripts_or_styles(template: Path) -> None:
    assert INLINE.findall(template.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "path",
    [
        "/feed",
        "/feed?order=oldest",
        "/saved",
        "/mutes",
        "/search",
        "/search?q=has:nothing",
        "/search?q=-",
        "/ask",
        "/ask?q=мост",
        "/ask?q=-",
        "/changes",
        "/digest",
        "/digest/plan",
        "/interests",
        "/trends",
        "/tags",
        "/tags/nothing",
        "/setup",
        *REFUSED,
    ],
)
async def test_a_russian_page_holds_no_english_sentence(app: App, tenant_id: TenantId, path: str) -> None:
    async with member_browser(app, tenant_id, language="ru") as browser:
        await browser.open(f".{path}")
        assert english_in(browser.page) == []


async def test_refused_forms_answer_in_russian(
    app: App, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    await make_followed(system, admin, tenant_id, "Мост")
    async with member_browser(app, tenant_id, language="ru") as browser:
        for path, fields in (
            ("./mutes", {"word": " "}),
            ("./mutes", {"channel": "1"}),
            ("./read", {"post": "x"}),
            ("./read/all", {"snapshot": "x"}),
            ("./search/saved", {"name": "", "query": "мост"}),
            ("./members/invite", {"role": "king"}),
            ("./setup/application", {"api_id": "x"}),
            ("./setup/proxy", {"kind": "pigeon"}),
            ("./setup/login", {"way": "pigeon"}),
            ("/me/preferences", {"theme": "pink"}),
            ("/me/password", {"new": "short"}),
        ):
            await browser.open("./mutes")
            await browser.submit(path, fields)
            assert english_in(browser.page) == [], (path, fields)


async def test_the_login_answers_in_russian(app: App) -> None:
    async with open_browser(app, language="ru") as browser:
        for path in ("/login", "/link/nothing", "/start", "/nothing"):
            await browser.open(path)
            assert english_in(browser.page) == [], path


def english_in(page: str) -> list[str]:
    """Runs of three or more English words in what a reader sees, apart from what people wrote (`bdi`)."""
    body = page.partition("<body")[2] or page
    body = re.sub(r"<(code|kbd|bdi|option lang)[^>]*>.*?</\w+>", " ", body, flags=re.DOTALL)
    seen = " ".join(
        [
            re.sub(r"<[^>]*>", " | ", body),
            *re.findall(r'(?:title|placeholder|aria-label|alt)="([^"]*)"', body),
        ]
    )
    seen = re.sub(r"\w+:\w+", " ", seen)  # operators of the search
    words = [" ".join(phrase.split()) for phrase in re.findall(r"(?:\b[A-Za-z][a-z']+\b[ ,.:;]*){3,}", seen)]
    return [word for word in words if not set(re.findall(r"\w+", word)) <= OURS]


async def test_what_was_understood_names_the_topic_and_the_kind_in_the_readers_language(
    app: App, tenant_id: TenantId, system: SystemStores, admin: Admin
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "Шторм")
    await admin.execute(
        """
        INSERT INTO post_enrichment (channel_id, message_id, kind, tier, provider, model, prompt_version,
            revision, data)
        VALUES ($1, 1, 'tags', 'local', '', 'rules', '', 1,
            '{"tags": ["шторм"], "topic": "weather", "kind": "news"}')
        """,
        channel_id,
    )
    async with member_browser(app, tenant_id, language="ru") as reader:
        page = (await reader.open(f"./post/{channel_id}/1")).text
    assert "погода" in page
    assert "weather" not in page
    assert ">news<" not in "".join(page.split())


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("analyzed", "Маяк"),
        ("failed", "не удалось прочитать картинки"),
        ("skipped", "картинки не разбирались"),
    ],
)
async def test_what_became_of_pictures_is_said_in_the_readers_language(
    app: App, tenant_id: TenantId, system: SystemStores, admin: Admin, status: str, words: str
) -> None:
    channel_id = await make_followed(system, admin, tenant_id, "Шторм")
    await admin.execute(
        """
        INSERT INTO post_enrichment (channel_id, message_id, kind, tier, provider, model, prompt_version,
            revision, data)
        VALUES ($1, 1, 'vision', 'local', '', 'tesseract', '', 1,
            jsonb_build_object('status', $2::text, 'text', 'Маяк'))
        """,
        channel_id,
        status,
    )
    async with member_browser(app, tenant_id, language="ru") as reader:
        page = (await reader.open(f"./post/{channel_id}/1")).text
    assert words in page
    assert status not in page


@pytest.mark.parametrize("language", ["en", "ru"])
def test_every_topic_of_the_vocabulary_has_a_name(language: str) -> None:
    topics = tomllib.loads(
        (CHECKOUT / f"src/telegram_assistant/ai/vocabulary/{language}.toml").read_text(encoding="utf-8")
    )
    parts = (CHECKOUT / "src/telegram_assistant/web/templates/parts.html").read_text(encoding="utf-8")
    named = re.search(r"set topic_names = \{(.*?)\}", parts, re.DOTALL)
    assert named is not None
    assert [topic for topic in topics if f'"{topic}": _(' not in named[1]] == []
