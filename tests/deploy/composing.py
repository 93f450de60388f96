"""compose.yaml as an engine would read it."""

import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from telegram_assistant.features.operations.preparing import COMMANDS
from testkit.checkouts import CHECKOUT

DEFAULT = {"prepare", "migrate", "telethon-ingest", "worker", "api", "postgres", "redis"}
PROFILES = {
    "monitoring": {"prometheus", "grafana"},
    "graph": {"neo4j"},
    "vectors": {"qdrant"},
    "crawler": {"crawler"},
    "demo": {"demo", "demo-prepare", "demo-postgres", "demo-redis"},
    "commands": {"tga"},
}
ROLES = {"telethon-ingest": "ingest", "worker": "worker", "api": "api"}
OURS = {*ROLES, "prepare", "migrate", "tga", "demo", "demo-prepare", "crawler"}
PLACES = {**ROLES, "tga": COMMANDS, "migrate": "migrate"}
"""The folder of secrets of each service."""
MEGABYTES = {"m": 1, "g": 1024}

type Service = dict[str, Any]


@cache
def services() -> dict[str, Service]:
    """The services of compose.yaml as podman-compose resolves them, with all profiles."""
    chosen = [word for profile in PROFILES for word in ("--profile", profile)]
    command = [sys.executable, "-m", "podman_compose", "--dry-run", *chosen, "config"]
    printed = subprocess.run(
        command, cwd=CHECKOUT, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    composed: dict[str, Service] = yaml.safe_load(printed)["services"]
    return composed


@cache
def whole() -> dict[str, Service]:
    composed: dict[str, Service] = yaml.safe_load((CHECKOUT / "compose.yaml").read_text(encoding="utf-8"))[
        "services"
    ]
    return composed


def environment(service: Service) -> dict[str, str]:
    return dict(service.get("environment", {}))


def volumes(service: Service) -> dict[str, str]:
    """Volume by the path where the container sees it."""
    return {
        target: source for source, target in (volume.split(":")[:2] for volume in service.get("volumes", []))
    }


def megabytes(service: Service) -> int:
    limit = str(service["mem_limit"])
    return int(limit[:-1]) * MEGABYTES[limit[-1]]


def mounts(name: str) -> dict[str, str]:
    """The mounts of a service under /data; `ro` marks a source that it only reads."""
    parts = [volume.split(":") for volume in whole()[name].get("volumes", [])]
    return {
        target: ":".join([source, *mode]) for source, target, *mode in parts if target.startswith("/data")
    }


def reaching(name: str, service: Service, given: Mapping[str, str], secrets: Path) -> dict[str, str]:
    """The environment in the container, where .env has the given values and `tga prepare` has run."""
    folder = secrets / PLACES[name]
    fixed = {key: _interpolate(str(value), given) for key, value in environment(service).items()}
    return {key: value.replace("/secrets", str(folder)) for key, value in fixed.items()}


def _interpolate(text: str, given: Mapping[str, str]) -> str:
    """Replaces variables. A default after `:-` also replaces an empty value; after `-` only a missing one."""

    def value_of(match: re.Match[str]) -> str:
        name, colon, default = match.groups()
        return (given.get(name) or default) if colon else given.get(name, default)

    return re.sub(r"\$\{(\w+)(:?)-([^}]*)\}", value_of, text)
