"""Messages that are written as a page: Telegram leaves their text empty."""

from typing import Any

from telethon.tl import types

from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.posts.post import Post, PostKind, TextEntity, fingerprint
from telegram_assistant.telegram.translation.translate import post_of
from tests.telegram.schema import make_message

NOTHING = types.TextEmpty()


def plain(text: str) -> Any:
    return types.TextPlain(text)


def translate_blocks(*blocks: Any, message: str = "", **more: Any) -> Post:
    page = types.RichMessage(**{"blocks": list(blocks), "photos": [], "documents": [], **more})
    post = post_of(ChannelId(7), make_message(message=message, rich_message=page))
    assert post is not None
    return post


def test_its_blocks_are_lines_and_its_styles_are_marks() -> None:
    styled = types.TextConcat(
        [
            plain("🔥 снег "),
            types.TextBold(types.TextUrl(plain("здесь"), "https://a.example/", 0)),
            plain("\x00"),
        ]
    )
    post = translate_blocks(
        types.PageBlockHeading1(plain("Погода")), types.PageBlockDivider(), types.PageBlockParagraph(styled)
    )
    assert (post.kind, post.text) == (PostKind.TEXT, "Погода\n🔥 снег здесь\ufffd")
    assert post.entities == (
        TextEntity("heading", 0, 6),
        TextEntity("text_url", 15, 5, "https://a.example/"),
        TextEntity("bold", 15, 5),
    )


def test_lists_keep_their_bullets_and_tables_their_cells() -> None:
    bullets = types.PageBlockList(
        [
            types.PageListItemText(plain("хлеб")),
            types.PageListItemText(plain("соль"), checkbox=True, checked=True),
            types.PageListItemBlocks(
                [types.PageBlockParagraph(plain("сыр")), types.PageBlockParagraph(plain("твёрдый"))]
            ),
        ]
    )
    numbers = types.PageBlockOrderedList(
        [types.PageListOrderedItemText(plain("раз")), types.PageListOrderedItemText(plain("два"), num="b")],
        start=3,
    )
    rows = [
        types.PageTableRow([types.PageTableCell(text=plain(cell)) for cell in row])
        for row in (("день", "°C"), ("пт", "-3"))
    ]
    table = types.PageBlockTable(plain("Неделя"), rows)
    post = translate_blocks(bullets, numbers, table)
    assert post.text == "• хлеб\n☑ соль\n• сыр\nтвёрдый\n3. раз\nb. два\nНеделя\nдень | °C\nпт | -3"
    assert post.entities == ()


def test_quotes_code_and_names_keep_their_details() -> None:
    post = translate_blocks(
        types.PageBlockBlockquote(plain("Снег."), plain("Ann"), collapsed=True),
        types.PageBlockPreformatted(plain("x = 1"), "py\x00"),
        types.PageBlockParagraph(
            types.TextConcat([types.TextCustomEmoji(2**62, "🔥"), types.TextMentionName(plain("Bob"), 6)])
        ),
    )
    assert post.text == "Снег.\nAnn\nx = 1\n🔥Bob"
    assert post.entities == (
        TextEntity("blockquote", 0, 9, detail="collapsed"),
        TextEntity("pre", 10, 5, detail="py\ufffd"),
        TextEntity("custom_emoji", 16, 2, detail=2**62),
        TextEntity("mention_name", 18, 3, detail=6),
    )


def test_pictures_between_the_words_are_facts_and_part_of_the_fingerprint() -> None:
    caption = types.PageCaption(plain("Мост"), plain("Ann"))
    photo = types.Photo(8, 5, b"reference", None, [types.PhotoSize("x", 800, 450, 50_000)], 2)
    post = translate_blocks(types.PageBlockPhoto(8, caption), photos=[photo], part=True)
    assert post.text == "Мост\nAnn"
    assert post.facts == {
        "rich": {
            "part": True,
            "photos": [{"id": 8, "dc_id": 2, "width": 800, "height": 450, "size_bytes": 50_000}],
        }
    }
    assert post.content_hash == fingerprint("Мост\nAnn", (), [8])


def test_a_button_that_leads_somewhere_is_a_link() -> None:
    button = types.PageButton(plain("Читать"), types.InlineButtonTypeUrl("https://a.example/"))
    post = translate_blocks(types.PageBlockButtonRow([button]))
    assert (post.text, post.entities) == ("Читать", (TextEntity("text_url", 0, 6, "https://a.example/"),))


def test_a_text_that_telegram_sent_is_not_overruled() -> None:
    assert translate_blocks(types.PageBlockParagraph(plain("page")), message="text").text == "text"


def test_a_page_without_words_is_an_empty_text() -> None:
    post = translate_blocks(
        types.PageBlockDivider(), types.PageBlockUnsupported(), types.PageBlockParagraph(NOTHING)
    )
    assert (post.kind, post.text, post.entities, post.facts) == (PostKind.TEXT, "", (), {"rich": {}})
