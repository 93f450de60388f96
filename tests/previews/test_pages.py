"""Pages are written by strangers: whatever they are, they become posts that every store takes,
or an error of ours.
"""

import base64
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telegram_assistant.domain.posts.post import Post, PostKind, TextEntity
from telegram_assistant.domain.posts.text import storable
from telegram_assistant.errors import AccessLost, UnknownMarkup
from telegram_assistant.previews.pages import PreviewPage, read_page
from telegram_assistant.previews.tree import MAX_DEPTH, MAX_NODES
from telegram_simulator.simulator import Simulator
from telegram_simulator.web.messages import Scene, bubble
from telegram_simulator.web.site import posts_of
from telegram_simulator.web.text import as_html
from telegram_simulator.world import post as world
from telegram_simulator.world.tiny import CITY, tiny_channels
from telegram_simulator.world.world import World

VIEW = base64.urlsafe_b64encode(json.dumps({"c": -77, "p": 5}).encode()).decode().rstrip("=")
DATE = '<a class="tgme_widget_message_date"><time datetime="2026-11-01T12:00:00+00:00">12:00</time></a>'
TITLE = '<div class="tgme_channel_info_header_title"><span>Новости</span></div>'


def page(*bubbles: str, name: str = "news") -> PreviewPage:
    return read_page(f'{TITLE}<section class="tgme_channel_history">{"".join(bubbles)}</section>', name)


def message(
    inside: str = "", *, number: int = 5, classes: str = "", footer: str = DATE, view: str = VIEW
) -> str:
    return (
        f'<div class="tgme_widget_message {classes}" data-post="news/{number}" '
        f'data-view="{view}">{inside}{footer}</div>'
    )


def text(inside: str) -> str:
    return f'<div class="tgme_widget_message_text js-message_text">{inside}</div>'


def only(*bubbles: str) -> Post:
    (post,) = page(*bubbles).posts
    return post


def test_a_post_is_read_with_its_channel_date_and_words() -> None:
    preview = page(message(text("Снег &amp; лёд<br/>завтра")))
    (post,) = preview.posts
    assert (preview.channel_id, preview.title) == (77, "Новости")
    assert (post.id.message_id, post.text, post.posted_at) == (
        5,
        "Снег & лёд\nзавтра",
        datetime(2026, 11, 1, 12, tzinfo=UTC),
    )
    assert (post.kind, post.edited_at, post.facts) == (PostKind.TEXT, None, {"source": "preview"})


@pytest.mark.parametrize(
    ("html", "kind", "url", "detail"),
    [
        ("<b>слово</b>", "bold", None, None),
        ("<em>слово</em>", "italic", None, None),
        ("<tg-spoiler>слово</tg-spoiler>", "spoiler", None, None),
        ('<pre><code class="language-c">слово</code></pre>', "pre", None, "c"),
        ("<blockquote expandable>слово</blockquote>", "blockquote", None, "collapsed"),
        ('<a href="https://e.example/x">слово</a>', "text_url", "https://e.example/x", None),
        ('<a href="?q=%23слово">слово</a>', "hashtag", None, None),
        ('<a href="mailto:x@e.example">слово</a>', "email", None, None),
        ('<tg-emoji emoji-id="17"><i class="emoji"><b>слово</b></i></tg-emoji>', "custom_emoji", None, 17),
    ],
)
def test_tags_are_marks(html: str, kind: str, url: str | None, detail: str | int | None) -> None:
    post = only(message(text(f"👍 {html} конец")))
    assert post.text == "👍 слово конец"
    assert post.entities == (TextEntity(kind, 3, 5, url, detail),)


@pytest.mark.parametrize(
    ("words", "address"),
    [("e.example", "http://e.example/"), ("https://e.example/а", "https://e.example/%D0%B0")],
)
def test_an_address_that_is_spelled_out_is_no_hidden_link(words: str, address: str) -> None:
    assert [entity.kind for entity in only(message(text(f'<a href="{address}">{words}</a>'))).entities] == [
        "url"
    ]


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "http://[", f"https://e.example/{'x' * 5000}", ""]
)
def test_a_link_that_leads_nowhere_good_is_words(address: str) -> None:
    post = only(message(text(f'<a href="{address}">слово</a><script>alert(1)</script>')))
    assert (post.text, post.entities) == ("слово", ())


def test_emoji_are_characters_not_italic_bold_ones() -> None:
    assert only(message(text('<i class="emoji"><b>👍</b></i> да'))).entities == ()


def test_what_is_quoted_is_not_what_is_said() -> None:
    reply = f'<a class="tgme_widget_message_reply" href="https://t.me/news/3">{text("чужое")}</a>'
    post = only(message(reply + text("своё")))
    assert (post.text, post.reply_to) == ("своё", 3)
    elsewhere = only(
        message(f'<a class="tgme_widget_message_reply" href="https://t.me/other/3">{text("чужое")}</a>')
    )
    assert (elsewhere.text, elsewhere.reply_to, elsewhere.facts["reply"]) == (
        "",
        None,
        {"username": "other", "message_id": 3},
    )


def test_only_the_page_says_that_a_post_was_edited() -> None:
    author = '<span class="tgme_widget_message_from_author">edited</span>'
    signed = only(message(footer=f'<span class="tgme_widget_message_meta">{author},&nbsp;{DATE}</span>'))
    assert (signed.author, "edited" in signed.facts) == ("edited", False)
    assert (
        only(message(footer=f'<span class="tgme_widget_message_meta">edited &nbsp;{DATE}</span>')).facts[
            "edited"
        ]
        is True
    )


@pytest.mark.parametrize(
    ("views", "counts"),
    [
        ("999", {"views": 999}),
        ("12.3K", {"views": 12_300, "rounded": True}),
        ("1M", {"views": 10**6, "rounded": True}),
    ],
)
def test_counts_say_whether_they_are_rounded(views: str, counts: dict[str, object]) -> None:
    assert only(message(f'<span class="tgme_widget_message_views">{views}</span>')).facts["counts"] == counts


@pytest.mark.parametrize(
    ("html", "kind"),
    [
        (
            (
                '<div class="tgme_widget_message_voice_player"><time '
                'class="tgme_widget_message_voice_duration">0:07</time></div>'
            ),
            PostKind.VOICE,
        ),
        ('<a class="tgme_widget_message_roundvideo_player"></a>', PostKind.VIDEO),
        (
            (
                '<a class="tgme_widget_message_document_wrap"><div class="tgme_widget_message_document_icon '
                'audio"></div></a>'
            ),
            PostKind.AUDIO,
        ),
        ('<div class="tgme_widget_message_sticker_wrap"></div>', PostKind.STICKER),
        ('<a class="tgme_widget_message_location_wrap"></a>', PostKind.OTHER),
        ('<div class="message_media_not_supported_wrap"></div>', PostKind.UNREADABLE),
        (
            (
                '<a class="tgme_widget_message_video_player"><div '
                'class="message_media_not_supported_wrap"></div></a>'
            ),
            PostKind.VIDEO,
        ),
    ],
)
def test_what_is_shown_decides_the_kind(html: str, kind: PostKind) -> None:
    assert only(message(html)).kind is kind


def test_a_page_without_posts_says_so() -> None:
    empty = page('<div class="tme_no_messages_found">No posts found</div>')
    assert (empty.channel_id, empty.posts, empty.has_older) == (None, (), False)


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<html><body>hello</body></html>",
        f'{TITLE}<section class="tgme_channel_history"></section>',
        f'{TITLE}<section class="tgme_channel_history">{message(footer="")}</section>',
        (
            f"{TITLE}<section "
            f'class="tgme_channel_history">{message(footer=DATE.replace("+00:00", ""))}</section>'
        ),
        f'{TITLE}<section class="tgme_channel_history">{message(view="")}</section>',
        f'{TITLE}<section class="tgme_channel_history">{message(view="eyJjIjoiLTc3In0")}</section>',
        f'{TITLE}<section class="tgme_channel_history">{message(number=2**31)}</section>',
        f'{TITLE}<section class="tgme_channel_history">{message().replace("news/5", "other/5")}</section>',
        (
            f"{TITLE}<section "
            f'class="tgme_channel_history">{message()}{message(number=6, view="eyJjIjotNzh9")}</section>'
        ),
        f'<section class="tgme_channel_history">{message()}</section>',
        "<b>" * (MAX_DEPTH + 1),
        "<br>" * (MAX_NODES + 1),
        "<![x",
    ],
)
def test_what_is_not_known_is_told_and_nothing_is_guessed(html: str) -> None:
    with pytest.raises(UnknownMarkup):
        read_page(html, "news")


def test_a_page_that_offers_to_open_the_app_shows_no_preview() -> None:
    with pytest.raises(AccessLost, match="@news shows no public preview"):
        read_page('<div class="tgme_page"><a>View in Telegram</a></div>', "news")


CHANNEL = next(
    tiny_channel for tiny_channel in tiny_channels(1_750_000_000) if tiny_channel.channel_id == CITY
)
SCENE = Scene(World(seed=1, clock=lambda: 1_750_000_000.0), CHANNEL, "http://files.example")
PAGE = (
    f'{TITLE}<section class="tgme_channel_history">'
    f"{''.join(bubble(SCENE, [post]) for post in posts_of(CHANNEL, before=19))}</section>"
)
junk = st.text(max_size=30) | st.sampled_from(
    [
        '"',
        "<",
        ">",
        "</div>",
        "<a href=",
        "&#0;",
        "&#xD800;",
        "\x00",
        "tgme_widget_message",
        "<![",
        "<!--",
        "<script>",
    ]
)


@given(cuts=st.lists(st.tuples(st.integers(0, len(PAGE)), st.integers(0, 400), junk), max_size=6))
def test_a_broken_page_becomes_storable_posts_or_an_error_of_ours(cuts: list[tuple[int, int, str]]) -> None:
    html = PAGE
    for start, length, put in cuts:
        html = html[:start] + put + html[start + length :]
    check(html)


@given(
    html=st.text(max_size=300)
    | st.text(st.sampled_from('<>/="& ab\x00😀'), max_size=300).map(lambda inside: message(text(inside)))
)
def test_any_text_becomes_storable_posts_or_an_error_of_ours(html: str) -> None:
    check(f'{TITLE}<section class="tgme_channel_history">{html}</section>')


def check(html: str) -> None:
    try:
        preview = read_page(html, "gorod_news" if "gorod_news" in html else "news")
    except (UnknownMarkup, AccessLost):
        return
    assert preview.title == storable(preview.title)
    for post in preview.posts:
        assert post.text == storable(post.text)
        assert json.dumps(post.facts, ensure_ascii=False) == storable(
            json.dumps(post.facts, ensure_ascii=False)
        )
        assert "\\u0000" not in json.dumps(post.facts)
        units = len(post.text.encode("utf-16-le")) // 2
        assert all(0 <= entity.offset < entity.offset + entity.length <= units for entity in post.entities)
        assert all(entity.url is None or entity.url == storable(entity.url) for entity in post.entities)


words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=8)


@given(
    parts=st.lists(
        st.tuples(
            words,
            st.sampled_from([None, "bold", "italic", "underline", "strike", "code", "spoiler", "blockquote"]),
        ),
        min_size=1,
    )
)
def test_what_the_site_writes_is_what_was_meant(parts: list[tuple[str, str | None]]) -> None:
    written, entities = "", list[world.Entity]()
    for word, kind in parts:
        if kind is not None:
            entities.append(
                world.Entity(kind, len(written.encode("utf-16-le")) // 2, len(word.encode("utf-16-le")) // 2)
            )
        written += f"{word} \n"
    post = only(message(text(as_html(written.rstrip(), entities))))
    assert post.text == written.rstrip()
    assert post.entities == tuple(
        TextEntity(entity.kind, entity.offset, entity.length) for entity in entities
    )


async def test_a_page_of_the_simulator_is_read(sim: Simulator) -> None:
    assert len(sim.ports) == 2
    assert len(read_page(PAGE, "gorod_news").posts) == 18
