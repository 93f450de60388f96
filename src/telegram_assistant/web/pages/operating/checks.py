"""What `tga doctor` finds, as the process that answers sees it: checked when the operator asks."""

from collections import Counter

from telegram_assistant.domain.diagnosis import Severity
from telegram_assistant.features.operations.doctor import examine
from telegram_assistant.web.views import Content, TenantView

WORST_FIRST = (Severity.BAD, Severity.WARNING, Severity.OK, Severity.OFF)


async def show(view: TenantView) -> Content:
    view.leave_queue()  # a server that is away is waited for
    findings = [finding async for finding in examine(view.app.settings)]
    findings.sort(key=lambda one: WORST_FIRST.index(one.verdict))
    counts = Counter(one.verdict for one in findings)
    return {"findings": findings, "problems": counts[Severity.BAD], "warnings": counts[Severity.WARNING], "now": view.now}
