"""Identifiers. A channel has Telegram's own positive id; a post is (channel, message)."""

from typing import NamedTuple, NewType
from uuid import UUID

TenantId = NewType("TenantId", int)
ChannelId = NewType("ChannelId", int)
MessageId = NewType("MessageId", int)
AccountId = NewType("AccountId", int)
UserId = NewType("UserId", int)


class PostId(NamedTuple):
    """A post, anywhere in the system.

    A tuple, because lists of stories compare and look up thousands of them.
    """

    channel_id: ChannelId
    message_id: MessageId

    def __str__(self) -> str:
        return f"{self.channel_id}/{self.message_id}"

    @classmethod
    def parse(cls, text: str) -> "PostId":
        """Parses `channel_id/message_id`; raises ValueError for anything else."""
        channel, slash, message = text.partition("/")
        if not (
            slash and channel.isascii() and channel.isdecimal() and message.isascii() and message.isdecimal()
        ):
            raise ValueError(f"a post is written channel_id/message_id, not {text!r}")
        return cls(ChannelId(int(channel)), MessageId(int(message)))

    @property
    def uuid(self) -> UUID:
        """The post's id in the vector and graph stores."""
        return UUID(int=self.channel_id << 64 | self.message_id)
