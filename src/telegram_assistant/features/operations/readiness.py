"""Production readiness of a running installation: smoke tests of its roles,
and the eight points of the readiness list.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from telegram_assistant.domain.operations.diagnosis import Finding, bad, ok, warning
from telegram_assistant.reasons import Reason, quote
from telegram_assistant.settings import HttpSettings
from telegram_assistant.telemetry.health import State, state_named
from telegram_assistant.telemetry.scraping import Metrics, RoleAddress, RoleStatus, role_status

MAX_P95_SECONDS = 30.0
ALERT_P95_SECONDS = 60.0
MAX_HWM_AGE_SECONDS = 600.0
ALERT_HWM_AGE_SECONDS = 86_400.0
PANEL_SERIES = {
    "Parsing Rate": "posts_parsed_total",
    "Parsing Latency p95": "parsing_duration_seconds_bucket",
    "Empty Ticks Detection": "parser_runs_total",
    "HWM Age Max": "parser_hwm_age_seconds",
    "Forced Historical Count": "parser_mode_forced_total",
    "Scheduler Freshness": "scheduler_last_tick_ts_seconds",
}
"""The metric behind each panel of the dashboard."""
ALERT_SERIES = {
    "HWM Age Critical": "parser_hwm_age_seconds",
    "Scheduler Stale": "scheduler_last_tick_ts_seconds",
    "High Parsing Latency": "parsing_duration_seconds_bucket",
}
RESTART_INGEST = Reason("restart_ingest", "an older version may be running: restart the ingest role")
ABSENT_WHEN_HEALTHY = {"parser_hwm_age_seconds"}
"""It has a series only while a channel is partly read."""


class CheckedRole(StrEnum):
    """A role that is checked."""

    INGEST = "ingest"
    WORKER = "worker"
    API = "api"


@dataclass(frozen=True, slots=True)
class Expectations:
    """Facts that come from the settings and the database, not from the roles."""

    interval_seconds: int
    posts_are_unique: bool | None
    """Whether the database refuses a second row for the same post; None if it did not answer."""


def addresses_of(
    http: HttpSettings, hosts: Mapping[CheckedRole, str] | None = None
) -> dict[CheckedRole, RoleAddress]:
    """Returns the addresses of the roles according to the settings; `hosts` names roles on other machines."""
    listens_everywhere = http.host in {"", "0.0.0.0", "::"}  # noqa: S104 -- compares, does not listen
    own_host = "127.0.0.1" if listens_everywhere else http.host
    key = http.operator_key.get_secret_value()
    ports = {
        CheckedRole.INGEST: (http.ingest_port, http.ingest_operations_port),
        CheckedRole.WORKER: (http.worker_port, http.worker_operations_port),
        CheckedRole.API: (http.api_port, http.api_operations_port),
    }
    return {
        role: RoleAddress(
            (hosts or {}).get(role, own_host), port, port if operations_port is None else operations_port, key
        )
        for role, (port, operations_port) in ports.items()
    }


async def examine_installation(
    addresses: Mapping[CheckedRole, RoleAddress], *, expected: Expectations, now: datetime
) -> AsyncIterator[Finding]:
    """Yields one finding per check. All roles are asked concurrently."""
    answers = await asyncio.gather(
        *(role_status(address) for address in addresses.values()), return_exceptions=True
    )
    for role, answer in zip(addresses, answers, strict=True):
        match answer:
            case RoleStatus():
                yield _role(role, answer)
                for finding in _parts(role, answer):
                    yield finding
            case ConnectionError():
                port = f"{role.upper()}_PORT"
                remedy = Reason(
                    "start_role",
                    "start it: tga run --roles {role}; {port} and HTTP_HOST set its address",
                    role=role,
                    port=port,
                )
                yield bad(f"role {role}", quote(str(answer)), remedy=remedy)
            case _:
                raise answer
    ingest = answers[list(addresses).index(CheckedRole.INGEST)]
    if isinstance(ingest, RoleStatus):
        for finding in _readiness(ingest, expected=expected, now=now):
            yield finding


def _role(role: CheckedRole, status: RoleStatus) -> Finding:
    """The obstacles are named first: they say more than the state."""
    subject, state = f"role {role}", state_named(status.health["status"])
    if status.obstacles:
        why = "; ".join(f"{name}: {obstacle}" for name, obstacle in status.obstacles.items())
        reason = Reason("role_not_ready", "/readyz answers 503: {why}", why=why)
        return bad(
            subject,
            reason,
            remedy=Reason("fix_what_it_names", "fix the named problem; `tga doctor` shows how"),
        )
    reason = Reason("health_says", "/health answers {status}", status=str(status.health["status"]))
    if state.is_trouble:
        return bad(
            subject,
            reason,
            remedy=Reason("see_health_details", "/health/details shows the failing part and the reason"),
        )
    if state is not State.OK:
        return warning(
            subject,
            reason,
            remedy=Reason("wait_for_role", "it is starting or stopping: check again in a minute"),
        )
    return ok(
        subject,
        Reason("role_ready", "alive and ready, version {version}", version=str(status.health["version"])),
    )


def _parts(role: CheckedRole, status: RoleStatus) -> Iterator[Finding]:
    """Stages of the worker, loops and jobs of the others."""
    parts: Mapping[str, Mapping[str, object]] = status.details["parts"]
    for name, part in parts.items():
        if state_named(part["status"]).is_trouble:
            state, since = f"{part['status']}", f"{part['since']}"
            reason = Reason("part_fails", "{state} since {since}", state=state, since=since)
            if part.get("detail"):
                reason = Reason(
                    "part_fails_because",
                    "{state} since {since}: {detail}",
                    state=state,
                    since=since,
                    detail=str(part["detail"]),
                )
            yield bad(
                name,
                reason,
                remedy=Reason(
                    "search_log", "search the log of the {role} role for {part!r}", role=role, part=name
                ),
            )
    if role is CheckedRole.WORKER:
        stages = [name for name in parts if name.startswith("stage ")]
        working_stages = [name for name in stages if not state_named(parts[name]["status"]).is_trouble]
        if not stages or len(working_stages) < len(stages):
            reason = Reason(
                "some_stages_run",
                "{running} of {stages} stages are running",
                running=len(working_stages),
                stages=len(stages),
            )
            remedy = Reason(
                "see_stages",
                "the lines above give the reasons, `tga streams --once` shows the queues; run `tga "
                "streams resume` for a stopped stage",
            )
            yield bad("stages", reason, remedy=remedy)
        else:
            yield ok(
                "stages", Reason("all_stages_run", "all {stages} stages are running", stages=len(stages))
            )


def _readiness(ingest: RoleStatus, *, expected: Expectations, now: datetime) -> Iterator[Finding]:
    """Yields the eight points in order, with the limits of the smoke tests, and then the latency."""
    metrics = ingest.metrics
    yield _scheduler(ingest)
    yield _tick(metrics, interval_seconds=expected.interval_seconds, now=now)
    yield _news(metrics)
    if expected.posts_are_unique is None:
        reason = Reason("posts_uniqueness_unknown", "unknown: PostgreSQL did not answer")
        yield warning(
            "4 no duplicates",
            reason,
            remedy=Reason(
                "fix_postgres_first", "fix the problem in the line about postgres, then check again"
            ),
        )
    elif expected.posts_are_unique:
        yield ok(
            "4 no duplicates", Reason("posts_unique", "the database refuses a second row for the same post")
        )
    else:
        reason = Reason("posts_not_unique", "the table of posts has no unique key on channel and message")
        yield bad("4 no duplicates", reason, remedy=Reason("migrate_now", "run `tga migrate`"))
    yield _check_partly_read(metrics)
    yield _check_exported("6 dashboard", PANEL_SERIES, metrics)
    yield _check_exported("7 alerts", ALERT_SERIES, metrics)
    yield _check_forced(metrics)
    yield _latency(metrics)


def _scheduler(ingest: RoleStatus) -> Finding:
    subject, status = "1 scheduler", str(ingest.health["scheduler"]["status"])
    reason = Reason("health_says", "/health answers {status}", status=status)
    remedy = Reason(
        "see_scheduler",
        "`tga scheduler status` shows the reason; check `tga accounts list` and `tga channels list`: "
        "there may be nothing to read",
    )
    return ok(subject, reason) if status == "ok" else bad(subject, reason, remedy=remedy)


def _tick(metrics: Metrics, *, interval_seconds: int, now: datetime) -> Finding:
    subject, last_tick_at = "2 tick", metrics.largest("scheduler_last_tick_ts_seconds")
    remedy = Reason(
        "check_lock", "check that Redis answers, and which instance holds the lock: `tga scheduler status`"
    )
    if not last_tick_at:
        return bad(subject, Reason("no_tick_yet", "there has been no tick yet"), remedy=remedy)
    age_seconds = max(0.0, now.timestamp() - last_tick_at)
    reason = Reason(
        "last_tick",
        "the last tick was {age:.0f} s ago; there should be one every {every} s",
        age=age_seconds,
        every=interval_seconds,
    )
    return ok(subject, reason) if age_seconds < 2 * interval_seconds else bad(subject, reason, remedy=remedy)


def _news(metrics: Metrics) -> Finding:
    """posts_parsed_total counts new posts only: a run that reads known posts again counts as empty."""
    subject = "3 news"
    new_posts, pushed_posts = (
        metrics.total(name, **labels) or 0
        for name, labels in (("posts_parsed_total", {"mode": "incremental"}), ("push_posts_total", {}))
    )
    runs = {
        status: metrics.total("parser_runs_total", mode="incremental", status=status) or 0
        for status in ("ok", "empty", "flood", "failed")
    }
    reason = Reason(
        "news_counted",
        "{posts:.0f} new posts ({pushed:.0f} pushed) in {runs:.0f} incremental runs; {empty:.0f} runs "
        "without posts",
        posts=new_posts,
        pushed=pushed_posts,
        runs=runs["ok"],
        empty=runs["empty"],
    )
    if new_posts > pushed_posts and not runs["ok"] + runs["flood"] + runs["failed"]:
        return bad(
            subject,
            reason,
            remedy=Reason(
                "posts_of_no_run", "the count includes posts that no run can have stored: report this bug"
            ),
        )
    if not new_posts:
        return warning(
            subject,
            reason,
            remedy=Reason(
                "wait_for_post", "wait for the first new post; `tga channels coverage` shows the progress"
            ),
        )
    return ok(subject, reason)


def _check_partly_read(metrics: Metrics) -> Finding:
    subject, age_seconds = "5 crash recovery", metrics.largest("parser_hwm_age_seconds") or 0.0
    if not age_seconds:
        return ok(subject, Reason("nothing_partly_read", "no channel is partly read"))
    reason = Reason(
        "partly_read",
        "a partly read channel has not progressed for {age:.0f} s; up to {limit:.0f} s is normal",
        age=age_seconds,
        limit=MAX_HWM_AGE_SECONDS,
    )
    remedy = Reason(
        "next_run_continues",
        "its next run continues from the last position; `tga channels coverage` shows the reason for the "
        "delay",
    )
    if age_seconds < MAX_HWM_AGE_SECONDS:
        return ok(subject, reason)
    return (bad if age_seconds > ALERT_HWM_AGE_SECONDS else warning)(subject, reason, remedy=remedy)


def _check_exported(subject: str, series: Mapping[str, str], metrics: Metrics) -> Finding:
    metric_names = {sample.name for sample in metrics.samples} | ABSENT_WHEN_HEALTHY
    missing_names = [name for name, metric in series.items() if metric not in metric_names]
    if missing_names:
        return bad(
            subject,
            Reason("metrics_missing", "no metric is exported for: {names}", names=", ".join(missing_names)),
            remedy=RESTART_INGEST,
        )
    return ok(
        subject,
        Reason(
            "metrics_exported",
            "the metrics of all {number} are exported ({names})",
            number=len(series),
            names=", ".join(series),
        ),
    )


def _check_forced(metrics: Metrics) -> Finding:
    subject, forced_count = "8 stale channels", metrics.total("parser_mode_forced_total", reason="stale_lpa")
    if forced_count is None:
        description = Reason(
            "metrics_missing", "no metric is exported for: {names}", names="parser_mode_forced_total"
        )
        return bad(subject, description, remedy=RESTART_INGEST)
    reason = Reason(
        "channels_forced",
        "{number:.0f} channels were read in historical mode because they had not been read for "
        "LPA_MAX_AGE_HOURS",
        number=forced_count,
    )
    remedy = Reason(
        "check_inactive_accounts", "this is normal after an outage; otherwise check for inactive accounts"
    )
    return warning(subject, reason, remedy=remedy) if forced_count else ok(subject, reason)


def _latency(metrics: Metrics) -> Finding:
    subject, p95 = "parsing latency", metrics.quantile("parsing_duration_seconds", 0.95)
    if p95 is None:
        return warning(
            subject,
            Reason("no_run_yet", "no run has finished yet"),
            remedy=Reason("wait_for_run", "wait for the first one"),
        )
    reason = Reason("runs_take", "95 of 100 runs take at most {seconds:g} s", seconds=p95)
    if math.isinf(p95):
        reason = Reason("runs_take_long", "95 of 100 runs take over ten minutes")
    remedy = Reason(
        "check_load", "check the load of PostgreSQL and ingest and the proxy; lower PARSER_MAX_CONCURRENCY"
    )
    if p95 <= MAX_P95_SECONDS:
        return ok(subject, reason)
    return (bad if p95 > ALERT_P95_SECONDS else warning)(subject, reason, remedy=remedy)
