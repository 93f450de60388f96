"""Characters that no database stores: each page answers with a sentence, and none breaks."""

import re
from urllib.parse import quote

import httpx
import pytest

from telegram_assistant.assembly import App
from telegram_assistant.domain.ids import TenantId
from telegram_assistant.web.page import Page
from telegram_assistant.web.site import OF_PERSON, OF_TENANT, OPEN, name_of
from testkit.web_clients import TOKEN, Browser, open_browser
from tests.web.test_pages_languages import english_in

NUL = "a\0b"
SURROGATE = b"+2AA-"
"""A half of a character in UTF-7: a client names the encoding of its form."""
CASES = [
    (route, prefix) for routes, prefix in ((OPEN, ""), (OF_PERSON, ""), (OF_TENANT, "./")) for route in routes
]


def fill_path(path: str) -> str:
    """The path with numbers where numbers must stand, and the character everywhere else."""
    return re.sub(r"\{\w+\}", quote(NUL), re.sub(r"\{\w+:int\}", "1", path)).replace(
        "/{file}", f"/{quote(NUL)}"
    )


@pytest.mark.parametrize(
    ("route", "prefix"),
    CASES,
    ids=lambda parameter: name_of(parameter) if not isinstance(parameter, str) else "",
)
async def test_no_page_breaks_over_a_character_that_cannot_be_stored(
    owner: Browser, route: object, prefix: str
) -> None:
    path = prefix.removesuffix("/") + fill_path(route.path)  # type: ignore[attr-defined]  # all have one
    await owner.open("./mutes")
    if isinstance(route, Page):
        answer = await owner.open(f"{path}?q={quote(NUL)}&next={quote(NUL)}&folder={quote(NUL)}")
    else:
        answer = await owner.submit(path, name=NUL, query=NUL, word=NUL, address=NUL)
    assert answer.status_code == 422
    assert "cannot be stored" in answer.text


async def test_strangers_get_the_sentence_too(app: App) -> None:
    async with open_browser(app, language="ru") as browser:
        await browser.open("/login")
        answer = await browser.submit("/login", name=NUL, password="x" * 12, next="/")
        assert answer.status_code == 422
        assert english_in(answer.text) == []


async def test_halves_of_characters_are_refused(owner: Browser) -> None:
    await owner.open("./mutes")
    match = TOKEN.search(owner.page)
    assert match is not None
    parts = {"csrf": match[1].encode(), "word": SURROGATE}
    body = b"".join(
        b'--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (name.encode(), value)
        for name, value in parts.items()
    )
    headers = {"Content-Type": "multipart/form-data; boundary=x; charset=utf-7"}
    answer: httpx.Response = await owner.client.post(
        f"{owner.base}/mutes", content=body + b"--x--\r\n", headers=headers
    )
    assert answer.status_code == 422


async def test_a_list_of_channels_with_such_characters_is_read(owner: Browser, tenant_id: TenantId) -> None:
    assert tenant_id
    await owner.open("./channels/add")
    answer = await owner.upload("./channels/add", "mine.txt", b"@gorod_news\n@a\0b\n\0\n")
    assert answer.status_code in {303, 422}
