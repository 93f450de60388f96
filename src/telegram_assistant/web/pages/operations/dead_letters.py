"""Dead letters, for the operator: why each one failed, and what shall become of it."""

from starlette.responses import Response

from telegram_assistant.errors import Missing
from telegram_assistant.features.operations import dead_letters
from telegram_assistant.web.views import PAGE_UNKNOWN, Content, TenantView, go

LETTERS_PER_PAGE = 30
SHOWN_LETTERS = 1000
"""How much of a payload the page shows."""
MAX_NUMBER = 2**63 - 1


async def show(view: TenantView) -> Content:
    stage = view.query("stage") or None
    before = _number(view.query("before")) if view.query("before") else None
    page = await dead_letters.list_letters(
        letters=view.app.api.dead_letters, stage=stage, limit=LETTERS_PER_PAGE, before=before
    )
    return {
        "letters": [
            (letter, letter.payload[:SHOWN_LETTERS].decode("utf-8", "replace")) for letter in page.letters
        ],
        "max_bytes": SHOWN_LETTERS,
        "next": page.next,
        "stage": stage,
        "is_first": before is None,
    }


async def replay(view: TenantView) -> Response:
    partition_count = view.app.settings.streams.partitions
    letter = await dead_letters.replay(
        _letter_number(view),
        letters=view.app.api.dead_letters,
        redis=view.app.redis,
        partition_count=partition_count,
    )
    view.note(stage=letter.stage, reason=letter.reason)
    return go(view.url("/operations/dead-letters"))


async def discard(view: TenantView) -> Response:
    letter = await dead_letters.discard(
        _letter_number(view), letters=view.app.api.dead_letters, redis=view.app.redis
    )
    view.note(stage=letter.stage, reason=letter.reason)
    return go(view.url("/operations/dead-letters"))


def _letter_number(view: TenantView) -> int:
    return _number(view.request.path_params["number"])


def _number(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > MAX_NUMBER:
        raise Missing(PAGE_UNKNOWN)
    return int(text)
