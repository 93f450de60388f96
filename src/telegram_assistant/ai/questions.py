"""What is asked of a provider, whoever answers it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from telegram_assistant.ai.answers import key_of
from telegram_assistant.ai.outputs import Output, Tags
from telegram_assistant.ai.prompting import Prompt, prompt
from telegram_assistant.ai.protocols import Instruction, Reply
from telegram_assistant.ai.providers import Source
from telegram_assistant.domain.spending import Tokens
from telegram_assistant.domain.understanding import Work
from telegram_assistant.domain.vocabulary import Vocabulary, language_for

TAGGING, VISION, VECTORS = "tagging", "vision", "vectors"
"""The names of prompts, and of what is wanted later."""
TAGS_TOKENS = 400
OVERHEAD_TOKENS = 100
"""What a provider adds around a prompt."""


@dataclass(frozen=True, slots=True)
class Question[T: Output]:
    """What is asked, whoever answers it."""

    work: Work
    prompt: Prompt
    instruction: Instruction
    content: str
    shape: type[T]
    check: Callable[[T], T]
    highest: Tokens
    send: Callable[[Source, Instruction, float], Awaitable[Reply]]

    def key(self, source: Source) -> bytes:
        return key_of(self.work.value, source.name, source.models[self.work], self.prompt.label, self.content)


@dataclass(frozen=True, slots=True)
class Found[T]:
    """A provider's answer."""

    value: T
    source: Source
    is_cached: bool
    cost_micro: int


def about_tags(text: str, content: bytes, vocabulary: Vocabulary, listed: Mapping[str, str]) -> Question[Tags]:
    written = prompt(TAGGING)
    instruction = written.instruct(text, most_tokens=TAGS_TOKENS, vocabulary=listed[language_for(text)])
    return Question(Work.CHAT, written, instruction, content.hex(), Tags, lambda said: said.within(vocabulary, text), highest_of(instruction), chat)


def listed_by_topic(tags: Mapping[str, str]) -> str:
    """A line for each topic."""
    topics: dict[str, list[str]] = {}
    for tag, topic in tags.items():
        topics.setdefault(topic, []).append(tag)
    return "\n".join(f"{topic}: {', '.join(names)}" for topic, names in topics.items())


async def chat(source: Source, told: Instruction, timeout_seconds: float) -> Reply:
    return await source.provider.chat(told, model=source.models[Work.CHAT], timeout_seconds=timeout_seconds)


def highest_of(told: Instruction, besides: int = 0) -> Tokens:
    """No text of ours has more tokens than characters."""
    return Tokens(len(told.system) + len(told.user) + OVERHEAD_TOKENS + besides, told.most_tokens)
