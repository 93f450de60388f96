"""Reads channels by their public previews, with the same interface as an account's reader.

A preview proves ids only for what previews show: deleted and restricted posts leave no trace there.
"""

from datetime import datetime

from telegram_assistant.domain.channels.channel import USERNAME, Channel
from telegram_assistant.domain.channels.coverage import IdRange, proven_by
from telegram_assistant.domain.ids import MessageId
from telegram_assistant.domain.posts.history import HistoryPage, Readable
from telegram_assistant.errors import AccessLost, Rejected, UnknownMarkup
from telegram_assistant.previews.pages import PreviewPage, read_page
from telegram_assistant.previews.site import Site
from telegram_assistant.reasons import Reason

USUAL_PAGE = 20


class PreviewReader:
    """Reads channels without an account."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def newest(self, channel: Readable) -> HistoryPage:
        """Read about twenty posts. A page that holds the whole history proves every id from the first on."""
        page = await self._page(channel)
        proven_range = proven_by(page.ids)
        return HistoryPage(page.posts, _from_first(page, proven_range))

    async def below(self, channel: Readable, message_id: MessageId) -> HistoryPage:
        """Read the page just before an id."""
        page = await self._page(channel, before=message_id)
        posts = tuple(post for post in page.posts if post.message_id < message_id)
        proven_range = proven_by([post.message_id for post in posts], below_id=message_id)
        return HistoryPage(posts, _from_first(page, proven_range))

    async def above(self, channel: Readable, message_id: MessageId) -> HistoryPage:
        """Read the page just after an id.

        If it is the newest page, it is compared with the page below it: a site that cannot page upward would
        show the newest posts, whatever is missing between.
        """
        page = await self._page(channel, after=message_id)
        posts = tuple(post for post in page.posts if post.message_id > message_id)
        if not posts:
            return HistoryPage((), None)
        if not page.has_newer:
            under = await self.below(channel, posts[-1].message_id)
            if any(post.message_id > message_id for post in under.posts):
                raise UnknownMarkup(Reason("markup_without_next", "it has no link to newer posts"))
        return HistoryPage(posts, IdRange(MessageId(message_id + 1), posts[0].message_id))

    async def last_before(self, channel: Readable, moment: datetime) -> MessageId:
        """Return the newest post before that moment, or a later id with nothing between; 0 if there is none.

        Previews cannot be requested by date, so this searches: first in small steps, then by bisection.
        """
        page, low, high, step, middle = await self.newest(channel), 0, 0, USUAL_PAGE, None
        while True:
            older_message_ids = [post.message_id for post in page.posts if post.posted_at < moment]
            if middle is None or len(older_message_ids) < len(page.posts):
                if older_message_ids or not page.posts or (page.proven is not None and page.proven.low == 1):
                    return MessageId(max(older_message_ids, default=low))
                high = min(post.message_id for post in page.posts)
            else:
                low = middle
            if high - low <= 1:
                return MessageId(low)
            middle, step = max((low + high) // 2, high - step), step * 2
            page = await self.below(channel, MessageId(middle + 1))

    async def find(self, username: str) -> Channel:
        """Return the channel of that name. Raises Rejected if its preview does not say which it is."""
        page = await self._read_page(username)
        if page.channel_id is None:
            raise Rejected(
                Reason(
                    "preview_without_post",
                    "@{username} has no post that identifies the channel",
                    username=username,
                )
            )
        return Channel(channel_id=page.channel_id, title=page.title, username=username)

    async def _page(self, channel: Readable, **query: int) -> PreviewPage:
        if channel.username is None:
            raise AccessLost(Reason("channel_without_name", "the channel has no public name"))
        page = await self._read_page(channel.username, **query)
        if page.channel_id not in {None, channel.channel_id}:
            raise AccessLost(
                Reason(
                    "name_of_another_channel", "@{username} is another channel now", username=channel.username
                )
            )
        return page

    async def _read_page(self, username: str, **query: int) -> PreviewPage:
        if not USERNAME.match(username):
            raise Rejected(
                Reason("not_a_public_name", "{username!r} is not a public name", username=username[:40])
            )
        return read_page(await self._site.page(username, **query), username)


def _from_first(page: PreviewPage, proven_range: IdRange | None) -> IdRange | None:
    return (
        IdRange(MessageId(1), proven_range.high)
        if proven_range is not None and not page.has_older
        else proven_range
    )
