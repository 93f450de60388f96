"""`tga jobs`."""

import asyncio

from typer.testing import CliRunner

from telegram_assistant.cli import app
from telegram_assistant.jobs import PERIODIC


async def test_a_job_is_run_now_listed_with_its_result_and_an_unknown_one_is_refused(
    runner: CliRunner,
) -> None:
    done = await asyncio.to_thread(runner.invoke, app, ["jobs", "run", "forget_notices"])
    assert (done.exit_code, "1 done here, 0 failed" in done.stdout) == (0, True)
    listed = (await asyncio.to_thread(runner.invoke, app, ["jobs", "list"])).stdout
    assert all(job.name in listed for job in PERIODIC)
    assert "done" in listed
    refused = await asyncio.to_thread(runner.invoke, app, ["jobs", "run", "tidy_up"])
    assert (refused.exit_code, "there is no job 'tidy_up'" in refused.stderr) == (1, True)
