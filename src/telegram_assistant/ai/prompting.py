"""Prompts: files with a version. Strangers' text is fenced, so that models treat it as data."""

import re
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from telegram_assistant.ai.protocols import Instruction

MAX_CHARACTERS = 12_000
"""The most characters of one post; later text adds nothing about its subject."""
FENCE = "====="
_FENCE_LIKE = re.compile(r"[=\uff1d\u2550\u30a0]{3,}")
_TEMPLATE_MARKS = re.compile(
    r"<\|[^|>\n]{0,40}\|>|<\uff5c[^\uff5c>\n]{0,40}\uff5c>|<</?SYS>>"
    r"|</?(?:start_of_turn|end_of_turn|s|bos|eos|think|thinking|tools?|tool_calls?|tool_response|"
    r"tool_results?|function_calls?)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|PREFIX|SUFFIX|"
    r"MIDDLE|IMG|CALL_ID|ARGS)\]",
    re.IGNORECASE,
)
"""Marks of open models' chat templates: a server that does not escape them would see a new turn."""
_CITATION = re.compile(r"\[(\d{1,3}(?:[,;\s]+\d{1,3})*)\]")
_ADDRESSED = re.compile(
    r"\b(?:ignore|forget|disregard|override|bypass)\b.{0,40}\b(?:instructions?|rules?|prompts?|previous|"
    r"above|sources|posts|passages)\b"
    r"|\b(?:system|developer|hidden) (?:prompt|message|instructions?)\b|\byour (?:instructions|system|rules|"
    r"guidelines)\b"
    r"|(?:^|[.!?>\]}\n] )(?:system|assistant|developer|система|ассистент|помощник|модель)\s*[:,]"
    r"|\b(?:as an? |you are an? |if you are an? |dear )(?:ai|assistant|language model|model|llm|bot)\b"
    r"|\b(?:answer|reply|respond|say|output|print|write|repeat) (?:only|that|with|in \w+ only|exactly|"
    r"nothing|the (?:word|following|system))\b"
    r"|\bdo not (?:show|cite|quote|mention|answer|use)\b|\b(?:citation checker|the user is|outcome ?[=:])"
    r"|\b(?:забудь|игнорируй\w*|отбрось|не учитывай)\b.{0,40}"
    r"\b(?:инструкц\w+|правил\w*|источник\w*|указани\w+|пост\w*|сказанн\w+|канал\w*|остальн\w+)"
    r"|\bисточник\w* игнорируй\w*|\bсистемн\w+ (?:сообщени\w+|промпт\w*|инструкци\w+)|\bтво[ий]\w* "
    r"(?:инструкци\w+|правил\w+|промпт\w*)"
    r"|\b(?:если )?ты (?:[—–-] ?)?(?:языковая )?(?:модель|ассистент|бот|нейросеть|ии)\b|\b(?:уважаемая|"
    r"дорогая) (?:модель|нейросеть)\b"
    r"|\b(?:ответь|отвечай|отвечайте|напиши|выведи|повтори|скажи)[,:]? (?:что|только|одним|«|\"|ровно|"
    r"дословно|словом)"
    r"|\bне (?:цитируй|показывай|упоминай|отвечай|используй)\b|\bкогда спросят\b|\bпользователь (?:уже|"
    r"просит|хочет)\b",
    re.IGNORECASE,
)
"""Words with which people speak to models, not to readers."""
_KEPT_CONTROLS = "\n\t"
_INVISIBLE = {"Cc", "Cf", "Co", "Cn", "Cs"}
_JOINERS = "\u200d\ufe0f"
"""Removing these would break emoji apart."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file.

    Its version is part of the cache key and of every stored result: raise the number with every change of the
    text.
    """

    name: str
    version: int
    text: str

    @property
    def label(self) -> str:
        return f"{self.name}/{self.version}"

    def instruct(self, data: str, *, max_tokens: int, **blanks: str) -> Instruction:
        """Fills the blanks with trusted text and fences the untrusted data."""
        return Instruction(self.text.format(**blanks), fence_data(data), max_tokens)


@cache
def prompt(name: str) -> Prompt:
    head, _, text = (
        (files("telegram_assistant.ai") / "prompts" / f"{name}.md")
        .read_text(encoding="utf-8")
        .partition("\n---\n")
    )
    return Prompt(name, int(head.removeprefix("version:")), text.strip())


def fence_data(data: str) -> str:
    """The data between two unpredictable lines, without anything that looks like them."""
    word = secrets.token_hex(8)
    return f"{FENCE} DATA {word} {FENCE}\n{harmless(data)}\n{FENCE} END {word} {FENCE}"


def number_passages(passages: Sequence[tuple[str, str]], *, max_characters: int) -> str:
    """Passages under numbers in square brackets, each with its heading.

    Numbers in brackets that stand in them become round ones.
    """
    cleaned_passages = (
        (_CITATION.sub(r"(\1)", heading), _CITATION.sub(r"(\1)", text[:max_characters]))
        for heading, text in passages
    )
    return "\n\n".join(
        f"[{number}] {' '.join(heading.split())}\n{text.strip()}"
        for number, (heading, text) in enumerate(cleaned_passages, start=1)
    )


def addresses_model(text: str) -> bool:
    """Whether a text speaks to a model: about its instructions, in its roles, or in the marks of its prompts.

    Such a text is not sent.
    """
    visible_text = " ".join(_visible(text).split())
    return bool(_TEMPLATE_MARKS.search(text) or _FENCE_LIKE.search(text) or _ADDRESSED.search(visible_text))


def _visible(data: str) -> str:
    """The text without invisible characters."""
    return "".join(
        character
        for character in data[:MAX_CHARACTERS]
        if character in _KEPT_CONTROLS
        or character in _JOINERS
        or unicodedata.category(character) not in _INVISIBLE
    )


def harmless(data: str) -> str:
    """The text without fences, chat-template marks and invisible characters."""
    return _FENCE_LIKE.sub("==", _TEMPLATE_MARKS.sub(" ", _visible(data)))
