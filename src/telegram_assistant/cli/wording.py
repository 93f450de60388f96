"""Reasons in the language of the terminal. Everything else that commands print is English."""

import os
from datetime import UTC, tzinfo

from rich.markup import escape

from telegram_assistant.reasons import Reason
from telegram_assistant.translation import terminal_language, translate


def language_here() -> str:
    return terminal_language(os.environ)


def say_here(reason: Reason | None, *, zone: tzinfo = UTC) -> str:
    """The reason as a sentence; empty if there is none."""
    return "" if reason is None else translate(reason, language_here(), zone=zone)


def words_of(reason: Reason | None) -> str:
    """The same for rich, which reads markup in what it prints."""
    return escape(say_here(reason))
