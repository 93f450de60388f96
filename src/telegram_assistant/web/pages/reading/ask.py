"""Ask: a question, answered with the posts that say it."""

from telegram_assistant.errors import Rejected
from telegram_assistant.features.ask.ask import Answer, ask
from telegram_assistant.web.views import Content, TenantView


async def show(view: TenantView) -> Content:
    typed, previous = view.query("q").strip(), view.query("after").strip()
    content: dict[str, object] = {"asked": typed, "previous": previous, "answer": None}
    if not typed:
        return content
    try:
        answer = await ask(
            typed,
            tenant_id=view.membership.tenant_id,
            stores=view.stores,
            index=view.app.meaning_search,
            now=view.now,
            zone=view.zone,
            previous=previous,
        )
    except Rejected as error:
        return {**content, "problem": error.reason}
    return {**content, "answer": answer, "cited": _cited(answer)}


def _cited(answer: Answer) -> frozenset[int]:
    """The places of the passages that the answer quotes."""
    return frozenset(place for sentence in answer.sentences for place in sentence.passages)
