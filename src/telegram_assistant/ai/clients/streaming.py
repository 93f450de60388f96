"""Answers that arrive in pieces, through LangChain."""

from collections.abc import AsyncIterator, Sequence

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata

from telegram_assistant.ai.protocols import Hear
from telegram_assistant.domain.understanding.policy import Failure, ProviderFailed


async def gather_pieces(
    pieces: AsyncIterator[AIMessageChunk], messages: Sequence[BaseMessage], hear: Hear
) -> AIMessageChunk:
    """Passes on each piece, and returns the whole answer.

    A server that does not say how many tokens it has used is billed for the characters: no text has more
    tokens. Raises ProviderFailed(LATE) for an answer that breaks off: what was written may be billed.
    """
    answer = AIMessageChunk(content="")
    try:
        async for piece in pieces:
            if text := str(piece.text):
                hear(text)
            answer += piece
    except Exception as error:
        if str(answer.text):
            raise ProviderFailed(Failure.LATE, f"the answer broke off ({type(error).__name__})") from error
        raise
    if answer.usage_metadata is None:
        sent_count, received_count = (
            sum(len(str(message.text)) for message in messages),
            len(str(answer.text)),
        )
        answer.usage_metadata = UsageMetadata(
            input_tokens=sent_count, output_tokens=received_count, total_tokens=sent_count + received_count
        )
    return answer
