"""Prompts: files with a version. Strangers' text is fenced, so that models treat it as data."""

import re
import secrets
import unicodedata
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
    r"|</?(?:start_of_turn|end_of_turn|s|bos|eos|think|thinking|tools?|tool_calls?|tool_response|tool_results?|function_calls?)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|PREFIX|SUFFIX|MIDDLE|IMG|CALL_ID|ARGS)\]",
    re.IGNORECASE,
)
"""Marks of open models' chat templates: a server that does not escape them would see a new turn."""
_KEPT_CONTROLS = "\n\t"
_INVISIBLE = {"Cc", "Cf", "Co", "Cn", "Cs"}
_JOINERS = "\u200d\ufe0f"
"""Removing these would break emoji apart."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file. Its version is part of the cache key and of every stored result: raise the number with every change of the text."""

    name: str
    version: int
    text: str

    @property
    def label(self) -> str:
        return f"{self.name}/{self.version}"

    def instruct(self, data: str, *, max_tokens: int, **blanks: str) -> Instruction:
        """Fills the blanks with trusted text and fences the untrusted data."""
        return Instruction(self.text.format(**blanks), fenced(data), max_tokens)


@cache
def prompt(name: str) -> Prompt:
    head, _, text = (files("telegram_assistant.ai") / "prompts" / f"{name}.md").read_text(encoding="utf-8").partition("\n---\n")
    return Prompt(name, int(head.removeprefix("version:")), text.strip())


def fenced(data: str) -> str:
    """The data between two unpredictable lines, without anything that looks like them."""
    word = secrets.token_hex(8)
    return f"{FENCE} DATA {word} {FENCE}\n{harmless(data)}\n{FENCE} END {word} {FENCE}"


def harmless(data: str) -> str:
    """The text without fences, chat-template marks and invisible characters."""
    seen = "".join(one for one in data[:MAX_CHARACTERS] if one in _KEPT_CONTROLS or one in _JOINERS or unicodedata.category(one) not in _INVISIBLE)
    return _FENCE_LIKE.sub("==", _TEMPLATE_MARKS.sub(" ", seen))
