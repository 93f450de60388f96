"""`tga jobs`: the periodic jobs, their last runs, and one of them at once."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_operation
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, show_value
from telegram_assistant.cli.response_models import JobResponse, JobsResponse
from telegram_assistant.clock import period_start, run_now
from telegram_assistant.features.operations.overview import last_job_runs
from telegram_assistant.jobs import Job, job_named, periodic_jobs
from telegram_assistant.stores.postgres.operations.job_runs import JobRun

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Periodic jobs: list them, run one now.",
)


@app.command("list")
def show(as_json: AsJson = False) -> None:
    """List the periodic jobs, when each last ran and what became of it, and when it runs next."""

    async def look(assembled: App) -> JobsResponse:
        runs, now = await last_job_runs(backlog=assembled.api.backlog), datetime.now(UTC)
        jobs = periodic_jobs(assembled.settings)
        return JobsResponse(items=[_response(job, runs.get(job.name), now) for job in jobs])

    show_value(with_app(look, needs_redis=False), _print_jobs, as_json=as_json)


def _print_jobs(response: JobsResponse) -> None:
    table = Table("job", "every", "last run", "by", "result", "next", pad_edge=False)
    for job in response.items:
        table.add_row(
            job.job,
            _interval(job.every_seconds),
            f"{job.started_at:%m-%d %H:%M} UTC" if job.started_at else "never",
            job.instance or "–",
            _result(job),
            f"{job.next_at:%m-%d %H:%M} UTC",
        )
    console.print(table)


@app.command("run")
def run_job_now(
    name: Annotated[str, typer.Argument(help="The name of the job, as `tga jobs list` shows it.")],
) -> None:
    """Run a job now, in this process. It also runs at its next period."""

    async def work(assembled: App) -> str:
        job = job_named(name, assembled.settings)
        done = await run_now(job, app=assembled, now=datetime.now(UTC))
        await record_operation(assembled, "run_job", f"/jobs/{name}")
        return done

    console.print(f"[green]{name}[/]: {escape(with_app(work))}")


def _response(job: Job, run: JobRun | None, now: datetime) -> JobResponse:
    return JobResponse(
        job=job.name,
        every_seconds=int(job.every.total_seconds()),
        started_at=run.started_at if run else None,
        finished_at=run.finished_at if run else None,
        instance=run.instance if run else None,
        error=run.error if run else None,
        next_at=period_start(now, job.every) + job.every,
    )


def _interval(seconds: int) -> str:
    minutes = seconds // 60
    return f"{minutes} min" if minutes % 60 else f"{minutes // 60} h"


def _result(job: JobResponse) -> str:
    if job.started_at is None:
        return "–"
    if job.error:
        return f"[red]failed[/]: {escape(job.error)}"
    return "[green]done[/]" if job.finished_at else "runs"
