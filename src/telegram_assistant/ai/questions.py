"""What is asked of a provider, whoever answers it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from telegram_assistant.ai.answers import key_of
from telegram_assistant.ai.outputs import Output, Tags
from telegram_assistant.ai.prompting import Prompt, prompt
from telegram_assistant.ai.protocols import Instruction, Reply
from telegram_assistant.ai.providers import ConfiguredProvider
from telegram_assistant.domain.ids import ChannelId
from telegram_assistant.domain.understanding.policy import ModelTask
from telegram_assistant.domain.understanding.spending import Tokens
from telegram_assistant.domain.understanding.vocabulary import Vocabulary, language_for

TAGGING, VISION, VECTORS = "tagging", "vision", "vectors"
"""The names of prompts, and of what is wanted later."""
TAGS_TOKENS = 400
OVERHEAD_TOKENS = 100
"""What a provider adds around a prompt."""


@dataclass(frozen=True, slots=True)
class Question[T: Output]:
    """What is asked, whoever answers it."""

    work: ModelTask
    prompt: Prompt
    instruction: Instruction
    content: str
    shape: type[T]
    accept: Callable[[T], T]
    """What is stored of a new answer, for all who ask the same."""
    take: Callable[[T], T]
    """What this asker takes of an answer, new or stored."""
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


def about_tags(text: str, content: bytes, vocabulary: Vocabulary, listed: Mapping[str, str], *, channel_id: ChannelId) -> Question[Tags]:
    """Copies share the answer, but for what it says of the sort of the post: that is a channel's own."""
    written = prompt(TAGGING)
    instruction = written.instruct(text, max_tokens=TAGS_TOKENS, vocabulary=listed[language_for(text)])

    def accept(said: Tags) -> Tags:
        return said.within(vocabulary, text).model_copy(update={"channel_id": channel_id})

    def take(said: Tags) -> Tags:
        return said.within(vocabulary, text) if said.channel_id == channel_id else said.within(vocabulary, text).without_sort()

    return Question(ModelTask.CHAT, written, instruction, content.hex(), Tags, accept, take, highest_of(instruction), chat)


def unchanged[T](said: T) -> T:
    return said


def listed_by_topic(tags: Mapping[str, str]) -> str:
    """A line for each topic."""
    topics: dict[str, list[str]] = {}
    for tag, topic in tags.items():
        topics.setdefault(topic, []).append(tag)
    return "\n".join(f"{topic}: {', '.join(names)}" for topic, names in topics.items())


async def chat(source: ConfiguredProvider, told: Instruction, timeout_seconds: float) -> Reply:
    return await source.provider.chat(told, model=source.models[ModelTask.CHAT], timeout_seconds=timeout_seconds)


def highest_of(told: Instruction, besides: int = 0) -> Tokens:
    """No text of ours has more tokens than characters."""
    return Tokens(len(told.system) + len(told.user) + OVERHEAD_TOKENS + besides, told.max_tokens)
