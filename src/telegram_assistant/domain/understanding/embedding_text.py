"""The text from which a post's vector is computed, and the facts by which searches filter it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from telegram_assistant.domain.media.files import MediaFile, MediaKind, files_of
from telegram_assistant.domain.posts.links import urls_of
from telegram_assistant.domain.posts.post import Json, Post
from telegram_assistant.domain.search.query import Has
from telegram_assistant.domain.understanding.policy import Tier

MAX_CHARACTERS = 2000
"""Sentence models read about 512 tokens, and providers charge for all of them."""
MAX_BESIDE = 600
"""The part of it that pictures and linked pages may take if the post itself is long."""

BY_PROVIDER = "by_provider"
FILMS = {MediaKind.VIDEO, MediaKind.ROUND}
FILES = {MediaKind.DOCUMENT, MediaKind.AUDIO}

type Data = Mapping[str, Json]
type Facts = dict[str, int | str | list[str]]


@dataclass(frozen=True, slots=True)
class PostFacts:
    """The enrichments of a post's current text, by tier."""

    tags: Mapping[Tier, Data]
    seen: Data
    """Local vision results of the pictures."""
    album: Data
    page_titles: tuple[str, ...]


def text_of(post: Post, facts: PostFacts) -> str:
    """The text of a post for its vector: its own words, then the text of its pictures and the titles of its
    links.

    One vector serves all tenants, so nothing in it may come from a provider whose results only some of them
    may see.
    """
    pictures = facts.album or facts.seen
    picture_words = "\n".join(
        dict.fromkeys(
            _words(
                str(pictures.get("description") or ""), str(pictures.get("text") or ""), *facts.page_titles
            )
        )
    )
    own = post.text.strip()[: MAX_CHARACTERS - min(len(picture_words), MAX_BESIDE)]
    return "\n".join(_words(own, picture_words))[:MAX_CHARACTERS]


def _words(*texts: str) -> Iterable[str]:
    return (stripped_text for text in texts if (stripped_text := text.strip()))


def facts_of(post: Post, facts: PostFacts) -> Facts:
    """The facts that searches filter by. Only facts that hold are included."""
    payload: Facts = {"channel": int(post.channel_id), "at": int(post.posted_at.timestamp())}
    if post.lang:
        payload["lang"] = post.lang
    if flags := list(_flags(post, facts)):
        payload["flags"] = flags
    for tier, data in facts.tags.items():
        if isinstance(tags := data.get("tags"), list) and tags:
            payload[f"tags_{tier.value}"] = [str(tag) for tag in tags]
        for name in ("topic", "kind"):
            if isinstance(value := data.get(name), str) and value:
                payload[f"{name}_{tier.value}"] = value
    return payload


def has_of(files: Sequence[MediaFile], urls: Sequence[str]) -> tuple[Has, ...]:
    """The values of `Has` for a post with these files and links."""
    features = (
        (Has.IMAGE, any((file.mime or "").startswith("image/") for file in files)),
        (Has.VIDEO, any(file.kind in FILMS for file in files)),
        (Has.LINK, bool(urls)),
        (Has.FILE, any(file.kind in FILES for file in files)),
    )
    return tuple(feature for feature, is_there in features if is_there)


def _flags(post: Post, facts: PostFacts) -> Iterator[str]:
    yield from has_of(files_of(post), urls_of(post.text, post.entities))
    if Tier.PROVIDER in facts.tags:
        yield BY_PROVIDER
    for tier, data in facts.tags.items():
        if data.get("is_ad"):
            yield f"ad_{tier.value}"
