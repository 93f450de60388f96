"""Periodic work at once, as `tga jobs run` does it."""

from datetime import UTC, datetime

from telegram_assistant.assembly import App
from telegram_assistant.clock import run_now
from telegram_assistant.jobs import job_named


async def run_periodic(app: App, job: str, now: datetime | None = None) -> str:
    """Runs the job, and does what it enqueues. Returns what it says."""
    return await run_now(job_named(job, app.settings), app=app, now=now or datetime.now(UTC))
