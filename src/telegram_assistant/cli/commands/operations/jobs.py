"""`tga jobs`: the periodic jobs, their last runs, and one of them at once."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from telegram_assistant.assembly import App
from telegram_assistant.cli.auditing import record_operation
from telegram_assistant.cli.connected import with_app
from telegram_assistant.cli.environment import console
from telegram_assistant.cli.output import AsJson, print_json
from telegram_assistant.cli.response_models import JobResponse, JobsResponse
from telegram_assistant.clock import period_start, run_now
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

    async def look(assembled: App) -> tuple[tuple[Job, ...], dict[str, JobRun]]:
        return periodic_jobs(assembled.settings), await assembled.api.backlog.job_runs()

    (jobs, runs), now = with_app(look, needs_redis=False), datetime.now(UTC)
    if as_json:
        print_json(JobsResponse(items=[_response(job, runs.get(job.name), now) for job in jobs]))
        return
    table = Table("job", "every", "last run", "by", "result", "next", pad_edge=False)
    for job in jobs:
        run = runs.get(job.name)
        began = f"{run.started_at:%m-%d %H:%M} UTC" if run else "never"
        table.add_row(
            job.name,
            _interval(job.every),
            began,
            run.instance if run else "–",
            _result(run),
            f"{_next(job, now):%m-%d %H:%M} UTC",
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
        next_at=_next(job, now),
    )


def _next(job: Job, now: datetime) -> datetime:
    return period_start(now, job.every) + job.every


def _interval(every: timedelta) -> str:
    minutes = int(every.total_seconds()) // 60
    return f"{minutes} min" if minutes % 60 else f"{minutes // 60} h"


def _result(run: JobRun | None) -> str:
    if run is None:
        return "–"
    if run.error:
        return f"[red]failed[/]: {escape(run.error)}"
    return "[green]done[/]" if run.finished_at else "runs"
