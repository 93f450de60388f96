"""What a post means to the index: the text that its vector is made of, and the facts that it is filtered by."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from telegram_assistant.domain.media.files import MediaFile, MediaKind, files_of
from telegram_assistant.domain.posts.links import urls_of
from telegram_assistant.domain.posts.post import Json, Post
from telegram_assistant.domain.search.query import Has
from telegram_assistant.domain.understanding.policy import Tier

MAX_CHARACTERS = 2000
"""Sentence models read about 512 tokens, and providers are paid for all of them."""
MAX_BESIDE = 600
"""Of that, what pictures and linked pages may take when the post itself is long."""

BY_PROVIDER = "by_provider"
FILMS = {MediaKind.VIDEO, MediaKind.ROUND}
FILES = {MediaKind.DOCUMENT, MediaKind.AUDIO}

type Data = Mapping[str, Json]
type Facts = dict[str, int | str | list[str]]


@dataclass(frozen=True, slots=True)
class PostFacts:
    """What was understood about the present text of a post, by tier."""

    tags: Mapping[Tier, Data]
    seen: Data
    """Pictures, as this machine has read them."""
    album: Data
    page_titles: tuple[str, ...]


def text_of(post: Post, learnt: PostFacts) -> str:
    """What a post is about: its own words, then what its pictures say and its links are called.

    One vector serves everybody, so nothing of it may come from a provider that only some of them may see.
    """
    pictures = learnt.album or learnt.seen
    beside = "\n".join(dict.fromkeys(_words(str(pictures.get("description") or ""), str(pictures.get("text") or ""), *learnt.page_titles)))
    own = post.text.strip()[: MAX_CHARACTERS - min(len(beside), MAX_BESIDE)]
    return "\n".join(_words(own, beside))[:MAX_CHARACTERS]


def _words(*texts: str) -> Iterable[str]:
    return (stripped for text in texts if (stripped := text.strip()))


def facts_of(post: Post, learnt: PostFacts) -> Facts:
    """What searches may ask for. Only what is so is written down."""
    facts: Facts = {"channel": int(post.channel_id), "at": int(post.posted_at.timestamp())}
    if post.lang:
        facts["lang"] = post.lang
    if flags := list(_flags(post, learnt)):
        facts["flags"] = flags
    for tier, data in learnt.tags.items():
        if isinstance(tags := data.get("tags"), list) and tags:
            facts[f"tags_{tier.value}"] = [str(tag) for tag in tags]
        for name in ("topic", "kind"):
            if isinstance(value := data.get(name), str) and value:
                facts[f"{name}_{tier.value}"] = value
    return facts


def has_of(files: Sequence[MediaFile], urls: Sequence[str]) -> tuple[Has, ...]:
    """What hangs on a post with these files and links."""
    held = (
        (Has.IMAGE, any((file.mime or "").startswith("image/") for file in files)),
        (Has.VIDEO, any(file.kind in FILMS for file in files)),
        (Has.LINK, bool(urls)),
        (Has.FILE, any(file.kind in FILES for file in files)),
    )
    return tuple(one for one, is_there in held if is_there)


def _flags(post: Post, learnt: PostFacts) -> Iterator[str]:
    yield from has_of(files_of(post), urls_of(post.text, post.entities))
    if Tier.PROVIDER in learnt.tags:
        yield BY_PROVIDER
    for tier, data in learnt.tags.items():
        if data.get("is_ad"):
            yield f"ad_{tier.value}"
