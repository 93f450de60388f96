"""Posts as bubbles, in the markup of Telegram's public previews: the same classes, attributes and order,
and words of our own.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from telegram_simulator.web.text import as_html, emoji, plain
from telegram_simulator.world.channel import Channel
from telegram_simulator.world.post import Document, FileKind, Photo, Poll, Post, Service, Unsupported, WebPage
from telegram_simulator.world.world import World

SITE = "https://t.me"
UNITS = ((10**6, "M"), (10**3, "K"))


@dataclass(frozen=True, slots=True)
class Scene:
    """The channel that is shown, and where its files are."""

    world: World
    channel: Channel
    files_url: str

    def link(self, message_id: int) -> str:
        return f"{SITE}/{self.channel.username}/{message_id}"

    def file(self, message_id: int) -> str:
        return f"{self.files_url}/{self.channel.channel_id}/{message_id}"


def bubble(scene: Scene, posts: Sequence[Post]) -> str:
    """One post, or the items of an album."""
    first_post = posts[0]
    service_class = " service_message" if first_post.service is not None else ""
    content = _service(scene, first_post) if first_post.service is not None else _content(scene, posts)
    return (
        '<div class="tgme_widget_message_wrap js-widget_message_wrap">'
        f'<div class="tgme_widget_message text_not_supported_wrap{service_class} js-widget_message" '
        f'data-post="{scene.channel.username}/{first_post.message_id}" data-view="{_view(scene, posts)}">\n'
        f'<div class="tgme_widget_message_user"><a href="{SITE}/{scene.channel.username}">'
        '<i class="tgme_widget_message_user_photo bgcolor2" '
        f'data-content="{escape(scene.channel.title[:1])}"></i></a></div>\n'
        f'<div class="tgme_widget_message_bubble">\n{_owner(scene)}\n{content}\n{_footer(scene, posts)}\n'
        "</div>\n</div></div>"
    )


def shorten_number(number: int) -> str:
    """Three digits at most: 999, 4.85K, 79.8K, 123K, 1.2M."""
    for unit, letter in UNITS:
        if number >= unit:
            return f"{float(f'{number / unit:.3g}'):g}{letter}"
    return str(number)


def _view(scene: Scene, posts: Sequence[Post]) -> str:
    number = posts[0].message_id
    view_token = {
        "c": -scene.channel.channel_id,
        "p": number if len(posts) == 1 else f"{number}g",
        "t": scene.world.now(),
        "h": f"{number:018x}",
    }
    return (
        base64.urlsafe_b64encode(json.dumps(view_token, separators=(",", ":")).encode()).decode().rstrip("=")
    )


def _owner(scene: Scene) -> str:
    name = f'<span dir="auto">{plain(scene.channel.title)}</span>'
    link = f'<a class="tgme_widget_message_owner_name" href="{SITE}/{scene.channel.username}">{name}</a>'
    return f'<div class="tgme_widget_message_author accent_color">{link}</div>'


def _service(scene: Scene, post: Post) -> str:
    title = plain(scene.channel.title)
    match post.service:
        case Service.PINNED:
            pinned = scene.channel.get(post.reply_to or 0)
            pinned_html = (
                '«<span class="tgme_widget_service_strong_text" '
                f'dir="auto">{plain(pinned.text[:120])}</span>»'
                if pinned
                else "a message"
            )
            author = (
                f'<a class="tgme_widget_message_author_name" href="{SITE}/{scene.channel.username}"><span '
                f'dir="auto">{title}</span></a>'
            )
            notice = f"{author} pinned {pinned_html}"
        case Service.TITLE:
            notice = (
                'Channel name was changed to «<span class="tgme_widget_service_strong_text" '
                f'dir="auto">{plain(post.text)}</span>»'
            )
        case _:
            notice = "Channel created"
    return f'<div class="tgme_widget_message_text js-message_text" dir="auto">{notice}</div>'


def _content(scene: Scene, posts: Sequence[Post]) -> str:
    first_post = posts[0]
    parts = [_render_origin(scene, first_post), _reply(scene, first_post)]
    parts.append(_render_album(scene, posts) if len(posts) > 1 else _media(scene, first_post, ""))
    caption = next((post for post in posts if post.text), None)
    if caption is not None:
        text = (
            '<div class="tgme_widget_message_text js-message_text" '
            f'dir="auto">{as_html(caption.text, caption.entities)}</div>'
        )
        # As Telegram does: the caption of an album stands in two such boxes, one inside the other.
        parts.append(
            f'<div class="tgme_widget_message_text js-message_text" dir="auto">{text}</div>'
            if len(posts) > 1
            else text
        )
    parts += [_link_preview(first_post), _reactions(first_post)]
    return "\n".join(part for part in parts if part)


def _render_origin(scene: Scene, post: Post) -> str:
    if post.origin is None:
        return ""
    origin = scene.world.channel(post.origin.channel_id)
    name = f'<span dir="auto">{plain(origin.title if origin else "Hidden channel")}</span>'
    link = (
        '<a class="tgme_widget_message_forwarded_from_name" '
        f'href="{SITE}/{{}}/{post.origin.message_id}">{name}</a>'
    )
    source = (
        link.format(origin.username)
        if origin and origin.username
        else f'<span class="tgme_widget_message_forwarded_from_name">{name}</span>'
    )
    return f'<div class="tgme_widget_message_forwarded_from accent_color">Forwarded from&nbsp;{source}</div>'


def _reply(scene: Scene, post: Post) -> str:
    answered = scene.channel.get(post.reply_to) if post.reply_to is not None else None
    if answered is None:
        return ""
    author = (
        '<div class="tgme_widget_message_author accent_color">'
        f'<span class="tgme_widget_message_author_name" dir="auto">{plain(scene.channel.title)}</span></div>'
    )
    text = (
        '<div class="tgme_widget_message_metatext js-message_reply_text" '
        f'dir="auto">{plain(answered.text[:120])}</div>'
    )
    return (
        '<a class="tgme_widget_message_reply user-color-default" '
        f'href="{scene.link(answered.message_id)}">{author}{text}</a>'
    )


def _render_album(scene: Scene, posts: Sequence[Post]) -> str:
    items = "".join(_media(scene, post, "?single") for post in posts)
    layer = (
        '<div class="tgme_widget_message_grouped_layer js-message_grouped_layer" '
        f'style="width:453px;height:425px">{items}</div>'
    )
    grouped = (
        '<div class="tgme_widget_message_grouped js-message_grouped" '
        f'style="padding-top:93.819%">{layer}</div>'
    )
    return (
        '<div class="tgme_widget_message_grouped_wrap js-message_grouped_wrap" data-margin-w="2" '
        f'data-margin-h="2">{grouped}</div>'
    )


def _media(scene: Scene, post: Post, single: str) -> str:
    link = scene.link(post.message_id) + single
    grouped = " grouped_media_wrap blured" if single else ""
    match post.media:
        case Photo() | Document() if scene.channel.protected:
            return _not_shown(link)
        case Photo():
            return _photo(scene, post, link, grouped)
        case Document(file) if file.kind is FileKind.MP4:
            return _video(scene, post, link, grouped)
        case Document():
            return _document(post.media, link)
        case Poll():
            return _poll(post.media, link)
    return _not_shown(link) if isinstance(post.media, Unsupported) else ""


def _photo(scene: Scene, post: Post, link: str, grouped: str) -> str:
    style = f"width:800px;background-image:url('{scene.file(post.message_id)}.jpg')"
    frame = '<div class="tgme_widget_message_photo" style="padding-top:62.5%"></div>'
    return (
        f'<a class="tgme_widget_message_photo_wrap{grouped} js-message_photo" href="{link}" '
        f'style="{style}">{frame}</a>'
    )


def _video(scene: Scene, post: Post, link: str, grouped: str) -> str:
    address = scene.file(post.message_id)
    return (
        f'<a class="tgme_widget_message_video_player{grouped} js-message_video_player" href="{link}">'
        f'<i class="tgme_widget_message_video_thumb" style="background-image:url(\'{address}.jpg\')"></i>'
        '<div class="tgme_widget_message_video_wrap js-message_video_wrap" '
        'style="width:320px;padding-top:62.5%">'
        f'<video src="{address}.mp4" class="tgme_widget_message_video js-message_video" width="100%" '
        'height="100%"></video></div>'
        '<time class="message_video_duration js-message_video_duration">0:01</time></a>'
    )


def _document(media: Document, link: str) -> str:
    size_bytes = media.file.size
    size_text = f"{size_bytes / 2**20:.1f} MB" if size_bytes >= 2**20 else f"{size_bytes / 2**10:.1f} KB"
    return (
        f'<a class="tgme_widget_message_document_wrap" href="{link}"><div '
        'class="tgme_widget_message_document_icon accent_bg"></div>'
        '<div class="tgme_widget_message_document">'
        f'<div class="tgme_widget_message_document_title accent_color" dir="auto">{plain(media.name)}</div>'
        f'<div class="tgme_widget_message_document_extra" dir="auto">{size_text}</div></div></a>'
    )


def _poll(poll: Poll, link: str) -> str:
    options = "".join(
        '<div class="tgme_widget_message_poll_option"><div '
        'class="tgme_widget_message_poll_option_percent">0%</div>'
        '<div class="tgme_widget_message_poll_option_value">'
        f'<div class="tgme_widget_message_poll_option_text">{plain(answer)}</div>'
        '<div class="tgme_widget_message_poll_option_bar accent_bg" style="width:0%"></div></div></div>'
        for answer in poll.answers
    )
    return (
        '<div class="tgme_widget_message_poll js-poll"><div '
        f'class="tgme_widget_message_poll_question">{plain(poll.question)}</div>'
        '<div class="tgme_widget_message_poll_type">Anonymous Poll</div>'
        f'<a class="tgme_widget_message_poll_options" href="{link}">{options}</a></div>'
    )


def _not_shown(link: str) -> str:
    return (
        '<div class="message_media_not_supported_wrap"><div class="message_media_not_supported">'
        '<div class="message_media_not_supported_label">This can only be seen in the app</div>'
        f'<a href="{link}" class="message_media_view_in_telegram">OPEN IT THERE</a></div></div>'
    )


def _link_preview(post: Post) -> str:
    page = post.media
    if not isinstance(page, WebPage):
        return ""
    return (
        f'<a class="tgme_widget_message_link_preview" href="{escape(page.url)}">'
        f'<div class="link_preview_site_name accent_color" dir="auto">{escape(page.url.split("/")[2])}</div>'
        f'<div class="link_preview_title" dir="auto">{plain(page.title)}</div>'
        f'<div class="link_preview_description" dir="auto">{plain(page.description)}</div></a>'
    )


def _reactions(post: Post) -> str:
    if not post.reactions:
        return ""
    each = "".join(
        f'<span class="tgme_reaction">{emoji(reaction)}{shorten_number(count)}</span>'
        for reaction, count in post.reactions
    )
    return f'<div class="tgme_widget_message_reactions js-message_reactions">{each}</div>'


def _footer(scene: Scene, posts: Sequence[Post]) -> str:
    first_post = posts[0]
    moment = datetime.fromtimestamp(first_post.date, UTC)
    views = (
        ""
        if first_post.service
        else (
            f'<span class="tgme_widget_message_views">{shorten_number(first_post.views)}</span>'
            '<span class="copyonly"> views</span>'
        )
    )
    author = (
        f'<span class="tgme_widget_message_from_author" dir="auto">{plain(first_post.author)}</span>,&nbsp;'
        if first_post.author
        else ""
    )
    edit_note = (
        "edited &nbsp;" if any(post.edit_date is not None and not post.edit_hidden for post in posts) else ""
    )
    time = f'<time datetime="{moment.isoformat()}" class="time">{moment:%H:%M}</time>'
    date = f'<a class="tgme_widget_message_date" href="{scene.link(first_post.message_id)}">{time}</a>'
    meta = f'<span class="tgme_widget_message_meta">{author}{edit_note}{date}</span>'
    info = f'<div class="tgme_widget_message_info short js-message_info">\n{views}{meta}\n</div>'
    return f'<div class="tgme_widget_message_footer compact js-message_footer">\n{info}\n</div>'
