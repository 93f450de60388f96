"""Questions to providers, independent of the provider."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from telegram_assistant.ai.gate_results import key_of
from telegram_assistant.ai.outputs import Output, Prose, Tags
from telegram_assistant.ai.prompting import Prompt, harmless, prompt
from telegram_assistant.ai.protocols import Hear, Instruction, Reply
from telegram_assistant.ai.providers import ConfiguredProvider
from telegram_assistant.domain.ids import ChannelId, TenantId
from telegram_assistant.domain.understanding.policy import ModelTask
from telegram_assistant.domain.understanding.spending import Tokens
from telegram_assistant.domain.understanding.vocabulary import Vocabulary, language_for

TAGGING, VISION, VECTORS = "tagging", "vision", "vectors"
"""Names of prompts, and values of `provider_wanted.work`."""
TAGS_TOKENS = 400
OVERHEAD_TOKENS = 100
"""The tokens that a provider adds around a prompt."""


@dataclass(frozen=True, slots=True)
class Question[T: Output]:
    """A question, independent of the provider."""

    work: ModelTask
    prompt: Prompt
    instruction: Instruction
    content: str
    shape: type[T]
    accept: Callable[[T], T]
    """Transforms a new answer before it is cached for all askers."""
    take: Callable[[T], T]
    """Transforms an answer, new or cached, for this asker."""
    highest: Tokens
    send: Callable[[ConfiguredProvider, Instruction, float], Awaitable[Reply]]

    def key(self, source: ConfiguredProvider) -> bytes:
        return key_of(self.work.value, source.name, source.models[self.work], self.prompt.label, self.content)


@dataclass(frozen=True, slots=True)
class ProviderAnswer[T]:
    """A provider's answer."""

    value: T
    source: ConfiguredProvider
    is_cached: bool
    cost_micro: int


def about_tags(
    text: str,
    content: bytes,
    vocabulary: Vocabulary,
    listed_tags: Mapping[str, str],
    *,
    channel_id: ChannelId,
) -> Question[Tags]:
    """The question for tags.

    Copies share the answer, except the genre of the post, which belongs to the channel.
    """
    tagging_prompt = prompt(TAGGING)
    instruction = tagging_prompt.instruct(
        text, max_tokens=TAGS_TOKENS, vocabulary=listed_tags[language_for(text)]
    )

    def accept(tags: Tags) -> Tags:
        return tags.within(vocabulary, text).model_copy(update={"channel_id": channel_id})

    def take(tags: Tags) -> Tags:
        return (
            tags.within(vocabulary, text)
            if tags.channel_id == channel_id
            else tags.within(vocabulary, text).without_sort()
        )

    return Question(
        ModelTask.CHAT,
        tagging_prompt,
        instruction,
        content.hex(),
        Tags,
        accept,
        take,
        highest_of(instruction),
        chat,
    )


def about_prose(
    prose_prompt: Prompt, data: str, *, tenant_id: TenantId, max_tokens: int, hear: Hear | None, **blanks: str
) -> Question[Prose]:
    """The question for sentences.

    Its answer is cached for this tenant only: another one must not learn that it was asked.
    """
    instruction = prose_prompt.instruct(data, max_tokens=max_tokens, **blanks)
    content = f"{tenant_id}\n{instruction.system}\n{harmless(data)}"

    async def send(source: ConfiguredProvider, request: Instruction, timeout_seconds: float) -> Reply:
        return await source.provider.chat(
            request, model=source.models[ModelTask.CHAT], timeout_seconds=timeout_seconds, hear=hear
        )

    return Question(
        ModelTask.CHAT,
        prose_prompt,
        instruction,
        content,
        Prose,
        keep_answer,
        keep_answer,
        highest_of(instruction),
        send,
    )


def keep_answer[T](answer: T) -> T:
    return answer


def list_by_topic(tags: Mapping[str, str]) -> str:
    """The tags, with a line per topic."""
    tags_by_topic: dict[str, list[str]] = {}
    for tag, topic in tags.items():
        tags_by_topic.setdefault(topic, []).append(tag)
    return "\n".join(f"{topic}: {', '.join(names)}" for topic, names in tags_by_topic.items())


async def chat(source: ConfiguredProvider, instruction: Instruction, timeout_seconds: float) -> Reply:
    return await source.provider.chat(
        instruction, model=source.models[ModelTask.CHAT], timeout_seconds=timeout_seconds
    )


def highest_of(instruction: Instruction, extra_tokens: int = 0) -> Tokens:
    """The most tokens that a call can use: no text has more tokens than characters."""
    return Tokens(
        len(instruction.system) + len(instruction.user) + OVERHEAD_TOKENS + extra_tokens,
        instruction.max_tokens,
    )
