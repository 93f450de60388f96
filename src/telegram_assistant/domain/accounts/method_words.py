"""Purposes of Telegram's methods, in plain words."""

from telegram_assistant.reasons import Reason, quote

_PURPOSES = {
    "auth.sendCode": Reason("method_sends_codes", "sending login codes"),
    "channels.getFullChannel": Reason("method_reads_details", "reading channel details"),
    "channels.getMessages": Reason("method_checks_posts", "rereading single posts"),
    "channels.joinChannel": Reason("method_joins", "joining channels"),
    "connect": Reason("method_connects", "connecting to Telegram"),
    "contacts.resolveUsername": Reason("method_looks_up", "looking up channels by name"),
    "messages.getDialogs": Reason("method_lists_chats", "reading the list of chats"),
    "messages.getHistory": Reason("method_reads_posts", "reading posts"),
    "messages.importChatInvite": Reason("method_joins", "joining channels"),
    "upload.getFile": Reason("method_fetches_files", "downloading files"),
}


def purpose_of(method: str) -> Reason | None:
    """The program's purpose for a method; None for a method that has no words here."""
    return _PURPOSES.get(method)


def words_for(method: str) -> Reason:
    """The purpose of a method with its name, or the name alone."""
    purpose = purpose_of(method)
    if purpose is None:
        return quote(method)
    return Reason("method_with_purpose", "{purpose} ({method})", purpose=purpose, method=method)
