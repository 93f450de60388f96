"""Public links: they show a story or a digest as their maker sees it at the moment when they are opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from telegram_assistant.domain.ids import PostId
from telegram_assistant.domain.people.person import new_token
from telegram_assistant.domain.sharing.content import SharedContent
from telegram_assistant.domain.sharing.links import (
    TOKEN_PREFIX,
    FoundLink,
    PublicLink,
    PublicLinkKind,
    link_lifetime,
)
from telegram_assistant.errors import Conflicting, Missing
from telegram_assistant.features.sharing.content import share_digest, share_story
from telegram_assistant.reasons import Reason
from telegram_assistant.stores.postgres.feed.choices import Mutes
from telegram_assistant.stores.postgres.sharing.public_links import PublicLinkDirectory
from telegram_assistant.stores.postgres.stores import PersonStores, TenantStores

LINK_OVER = Reason("public_link_over", "this link does not work, or no longer works")
NO_LINK = Reason("public_link_unknown", "you have no such link")
NOTHING_TO_SHARE = Reason("public_link_subject_unknown", "you have no such story or digest")
MUTED = Reason(
    "public_link_muted",
    "you hid this story, or muted a word in it, and a public link shows what you see; unmute it to share it",
)
NOT_ALLOWED = Reason(
    "public_link_refused",
    "you have reached your limit of public links, or your role does not allow them; revoke one, or ask an "
    "owner",
)
MAX_NAMED = 5
"""Private channels that a warning names."""
PATH = "/s/"
"""The beginning of the path of a link."""


@dataclass(frozen=True, slots=True)
class CreatedLink:
    """A new link. Its token is shown only once."""

    link: PublicLink
    token: str
    private_channels: tuple[str, ...]
    """The titles of private channels of which it shows posts now."""

    @property
    def path(self) -> str:
        return PATH + self.token


async def create_link(
    kind: PublicLinkKind, subject: str, *, days: int, stores: TenantStores, own: PersonStores
) -> CreatedLink:
    """Makes a link to a story or a digest that the person sees now.

    Raises Missing if they see none, Rejected for a wrong number of days, and Conflicting if they may not make
    one or have muted it.
    """
    lifetime: timedelta = link_lifetime(days)
    content = await _load_subject(kind, subject, stores=stores, own=own, language=None)
    token = TOKEN_PREFIX + new_token()
    link = await own.public_links.create(token, kind, subject, lifetime=lifetime)
    if link is None:
        raise Conflicting(NOT_ALLOWED)
    return CreatedLink(link, token, content.private_channels)


async def find_private_channels(
    kind: PublicLinkKind, subject: str, *, stores: TenantStores, own: PersonStores
) -> tuple[str, ...]:
    """The titles of private channels of which a link would show posts to strangers.

    Raises Missing if the person sees no such story or digest, and Conflicting if they have muted it.
    """
    content = await _load_subject(kind, subject, stores=stores, own=own, language=None)
    return content.private_channels


def warn_of_private_channels(channels: Sequence[str]) -> Reason:
    return Reason(
        "public_link_private",
        "everybody who has the link reads posts of {count} private channel, too: {channels}",
        "everybody who has the link reads posts of {count} private channels, too: {channels}",
        count=len(channels),
        channels=", ".join(channels[:MAX_NAMED]) + (", …" if len(channels) > MAX_NAMED else ""),
    )


async def list_links(*, own: PersonStores) -> tuple[PublicLink, ...]:
    """The person's links that still work, newest first."""
    return await own.public_links.all()


async def revoke_link(link_id: UUID, *, own: PersonStores) -> None:
    """The link stops working at once. Raises Missing if the person has no such link."""
    if not await own.public_links.revoke(link_id):
        raise Missing(NO_LINK)


async def find_link(token: str, *, directory: PublicLinkDirectory) -> FoundLink:
    """Raises Missing for every link that does not work, whatever the cause."""
    link = await directory.find(token) if token.startswith(TOKEN_PREFIX) else None
    if link is None:
        raise Missing(LINK_OVER)
    return link


async def open_link(
    link: FoundLink, *, stores: TenantStores, own: PersonStores, language: str
) -> SharedContent:
    """The content that the maker of the link sees now. Raises Missing if there is none."""
    try:
        return await _load_subject(link.kind, link.subject, stores=stores, own=own, language=language)
    except (Missing, Conflicting) as error:
        raise Missing(LINK_OVER) from error


async def _load_subject(
    kind: PublicLinkKind, subject: str, *, stores: TenantStores, own: PersonStores, language: str | None
) -> SharedContent:
    mutes = await own.choices.mutes()
    excluded_channel_ids = frozenset(channel.channel_id for channel in mutes.channels)
    try:
        if kind is PublicLinkKind.DIGEST:
            content = await share_digest(UUID(subject), own=own, excluded_channel_ids=excluded_channel_ids)
        else:
            content = await share_story(
                PostId.parse(subject),
                stores=stores,
                language=language,
                excluded_channel_ids=excluded_channel_ids,
            )
    except ValueError as error:
        raise Missing(NOTHING_TO_SHARE) from error
    if not content.posts:
        raise Missing(NOTHING_TO_SHARE)
    if _is_muted(content, mutes):
        raise Conflicting(MUTED)
    return content


def _is_muted(content: SharedContent, mutes: Mutes) -> bool:
    """Whether the person muted this story, or a word that one of its posts has."""
    words = [word.casefold() for word in mutes.words]
    return any(
        post.post_id in mutes.stories or any(word in post.text.casefold() for word in words)
        for post in content.posts
    )
