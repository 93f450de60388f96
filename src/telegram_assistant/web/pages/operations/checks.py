"""Findings of `tga doctor`, as the process that answers sees them: checked when the operator asks."""

from collections import Counter

from telegram_assistant.assembly import App
from telegram_assistant.domain.operations.diagnosis import Severity
from telegram_assistant.features.operations.doctor import examine
from telegram_assistant.pipeline import WITH_GRAPH
from telegram_assistant.web.views import Content, TenantView

WORST_FIRST = (Severity.BAD, Severity.WARNING, Severity.OK, Severity.OFF)


async def show(view: TenantView) -> Content:
    view.leave_queue()  # a server that is away is waited for
    only_shows_files = not isinstance(view.app, App)  # a process that runs nothing but the api
    findings = [
        finding
        async for finding in examine(view.app.settings, stages=WITH_GRAPH, only_shows_files=only_shows_files)
    ]
    findings.sort(key=lambda finding: WORST_FIRST.index(finding.verdict))
    counts = Counter(finding.verdict for finding in findings)
    return {
        "findings": findings,
        "problems": counts[Severity.BAD],
        "warnings": counts[Severity.WARNING],
        "now": view.now,
    }
