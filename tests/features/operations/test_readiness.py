"""The checks of a running installation: each trouble gets its own finding."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus

import pytest
import yaml
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from telegram_assistant.api.server import HttpServer
from telegram_assistant.domain.operations.diagnosis import Finding, Severity
from telegram_assistant.features.operations.readiness import (
    ALERT_SERIES,
    PANEL_SERIES,
    CheckedRole,
    Expectations,
    addresses_of,
    examine_installation,
)
from telegram_assistant.settings import HttpSettings, read_group
from telegram_assistant.telemetry.scraping import RoleAddress
from testkit.checkouts import CHECKOUT
from testkit.engines import free_port

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
KEY = "the-operators-key"
WELL = {
    'posts_parsed_total{mode="incremental"}': 7.0,
    'parser_runs_total{mode="incremental",status="ok"}': 5.0,
    'parser_runs_total{mode="incremental",status="empty"}': 50.0,
    'parser_mode_forced_total{reason="stale_lpa"}': 0.0,
    'parsing_duration_seconds_bucket{mode="incremental",le="30.0"}': 20.0,
    'parsing_duration_seconds_bucket{mode="incremental",le="60.0"}': 20.0,
    'parsing_duration_seconds_bucket{mode="incremental",le="+Inf"}': 20.0,
    "scheduler_last_tick_ts_seconds": NOW.timestamp() - 100,
}


@asynccontextmanager
async def installation(
    *, health: str = "ok", scheduler: str = "ok", ready: bool = True, stage: str = "ok", **metrics: float
) -> AsyncIterator[dict[CheckedRole, RoleAddress]]:
    """One server that answers like all three roles."""
    parts = {"stage tagging": {"status": stage, "since": "2026-11-15T11:00:00Z", "detail": "it was stopped"}}

    async def answer(request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {KEY}":
            return PlainTextResponse("no", 401)
        match request.url.path:
            case "/readyz":
                because = {} if ready else {"because": {"postgres": "it cannot be used now"}}
                return JSONResponse(because, HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE)
            case "/metrics":
                lines = {**WELL, **metrics}
                return PlainTextResponse(
                    "".join(f"{name} {value}\n" for name, value in lines.items() if value >= 0)
                )
            case _:
                return JSONResponse(
                    {"status": health, "version": "1", "scheduler": {"status": scheduler}, "parts": parts}
                )

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server, ports = (
            HttpServer(Starlette(routes=[Route("/{path:path}", answer)]), request_timeout_seconds=10),
            {f"{role.upper()}_PORT": listener.getsockname()[1] for role in CheckedRole},
        )
        running = asyncio.create_task(server.serve(sockets=[listener]))
        yield addresses_of(
            read_group(
                HttpSettings, {"OPERATOR_KEY": KEY, **{name: str(port) for name, port in ports.items()}}
            )
        )
        server.should_exit = True
        await running


async def examine_roles(
    addresses: dict[CheckedRole, RoleAddress], *, posts_are_unique: bool | None = True
) -> dict[str, Finding]:
    expected = Expectations(300, posts_are_unique)
    return {
        finding.subject: finding
        async for finding in examine_installation(addresses, expected=expected, now=NOW)
    }


async def test_an_installation_that_is_well_has_a_good_line_for_each_point() -> None:
    async with installation() as addresses:
        findings = await examine_roles(addresses)
    assert {finding.verdict for finding in findings.values()} == {Severity.OK}, findings
    assert [subject.split()[0] for subject in findings if subject[0].isdigit()] == [
        str(number) for number in range(1, 9)
    ]
    assert {"role ingest", "role worker", "role api", "stages", "parsing latency"} <= findings.keys()


@pytest.mark.parametrize(
    ("trouble", "subject", "verdict", "words"),
    [
        ({"scheduler": "stale"}, "1 scheduler", Severity.BAD, "answers stale"),
        ({"scheduler_last_tick_ts_seconds": NOW.timestamp() - 601}, "2 tick", Severity.BAD, "601 s ago"),
        ({"scheduler_last_tick_ts_seconds": 0.0}, "2 tick", Severity.BAD, "no tick yet"),
        ({'parser_runs_total{mode="incremental",status="ok"}': 0.0}, "3 news", Severity.BAD, "7 new posts"),
        ({'posts_parsed_total{mode="incremental"}': 0.0}, "3 news", Severity.WARNING, "0 new posts"),
        ({'parser_hwm_age_seconds{channel_id="1"}': 599.0}, "5 crash recovery", Severity.OK, "599 s"),
        ({'parser_hwm_age_seconds{channel_id="1"}': 601.0}, "5 crash recovery", Severity.WARNING, "601 s"),
        ({'parser_hwm_age_seconds{channel_id="1"}': 90_000.0}, "5 crash recovery", Severity.BAD, "90000 s"),
        ({"scheduler_last_tick_ts_seconds": -1.0}, "7 alerts", Severity.BAD, "Scheduler Stale"),
        (
            {'parser_mode_forced_total{reason="stale_lpa"}': 3.0},
            "8 stale channels",
            Severity.WARNING,
            "3 channels were read",
        ),
        (
            {'parsing_duration_seconds_bucket{mode="incremental",le="30.0"}': 10.0},
            "parsing latency",
            Severity.WARNING,
            "at most 60 s",
        ),
        (
            {'parsing_duration_seconds_bucket{mode="incremental",le="+Inf"}': 100.0},
            "parsing latency",
            Severity.BAD,
            "over ten minutes",
        ),
        (
            {'parsing_duration_seconds_bucket{mode="incremental",le="+Inf"}': 0.0},
            "parsing latency",
            Severity.WARNING,
            "no run has finished",
        ),
        ({"stage": "failing"}, "stages", Severity.BAD, "0 of 1 stages are running"),
        ({"stage": "failing"}, "stage tagging", Severity.BAD, "it was stopped"),
        ({"stage": "starting"}, "stages", Severity.OK, "all 1 stages are running"),
        ({"ready": False}, "role api", Severity.BAD, "postgres: it cannot be used now"),
        ({"ready": False, "health": "failing"}, "role api", Severity.BAD, "postgres: it cannot be used now"),
        ({"health": "stale"}, "role ingest", Severity.BAD, "/health answers stale"),
        ({"health": "down"}, "role ingest", Severity.BAD, "/health answers down"),
        ({"health": "of a newer version"}, "role worker", Severity.BAD, "of a newer version"),
        ({"health": "starting"}, "role worker", Severity.WARNING, "/health answers starting"),
    ],
)
async def test_each_trouble_has_its_line_with_what_to_do(
    trouble: dict[str, float], subject: str, verdict: Severity, words: str
) -> None:
    async with installation(**trouble) as addresses:  # type: ignore[arg-type]  # names
        finding = (await examine_roles(addresses))[subject]
    assert finding.verdict is verdict, finding
    assert words in str(finding.what)
    assert bool(finding.remedy) is (verdict is not Severity.OK)


async def test_a_role_that_is_away_or_refuses_is_named() -> None:
    async with installation() as addresses:
        addresses[CheckedRole.WORKER] = replace(addresses[CheckedRole.WORKER], port=free_port())
        addresses[CheckedRole.API] = replace(addresses[CheckedRole.API], key="wrong")
        findings = await examine_roles(addresses, posts_are_unique=False)
    assert "does not answer (ConnectionRefusedError)" in str(findings["role worker"].what)
    assert "tga run --roles worker" in str(findings["role worker"].remedy)
    assert "/health answers with 401" in str(findings["role api"].what)
    assert findings["4 no duplicates"].verdict is Severity.BAD


async def test_a_database_that_does_not_answer_is_not_taken_for_one_without_a_key() -> None:
    async with installation() as addresses:
        finding = (await examine_roles(addresses, posts_are_unique=None))["4 no duplicates"]
    assert finding.verdict is Severity.WARNING
    assert "tga migrate" not in str(finding.remedy)


def test_roles_on_other_machines_and_ports_for_the_operator_are_asked_where_they_are() -> None:
    http = read_group(
        HttpSettings,
        {
            "HTTP_HOST": "0.0.0.0",  # noqa: S104 -- as in a container
            "API_OPERATIONS_PORT": "9000",
            "OPERATOR_KEY": KEY,
        },
    )
    role_addresses = addresses_of(http, {CheckedRole.WORKER: "10.0.0.7"})
    assert role_addresses[CheckedRole.INGEST] == RoleAddress("127.0.0.1", 8011, 8011, KEY)
    assert role_addresses[CheckedRole.WORKER].host == "10.0.0.7"
    assert (role_addresses[CheckedRole.API].port, role_addresses[CheckedRole.API].operations_port) == (
        8000,
        9000,
    )


def test_every_panel_and_alert_is_listed_with_what_it_is_drawn_from() -> None:
    dashboard = json.loads(
        (CHECKOUT / "deploy/grafana/dashboards/incremental-parsing.json").read_text(encoding="utf-8")
    )
    panels = {
        panel["title"]: json.dumps(panel["targets"])
        for panel in dashboard["panels"]
        if panel.get("title") in PANEL_SERIES
    }
    assert panels.keys() == PANEL_SERIES.keys()
    assert all(PANEL_SERIES[title] in queries for title, queries in panels.items())
    rules = yaml.safe_load(
        (CHECKOUT / "deploy/prometheus/rules/incremental-parsing.yml").read_text(encoding="utf-8")
    )
    alerts = [
        (rule["alert"], rule["expr"])
        for group in rules["groups"]
        for rule in group["rules"]
        if "alert" in rule
    ]
    assert all(
        any(alert == name and series in expression for alert, expression in alerts)
        for name, series in ALERT_SERIES.items()
    )
