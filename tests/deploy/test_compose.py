"""compose.yaml and the Dockerfile, as an engine would read them."""

import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from telegram_assistant import __version__
from telegram_assistant.features.operations.preparing import COMMANDS, NEEDS
from telegram_assistant.settings import read_settings, variables
from testkit.checkouts import CHECKOUT

DEFAULT = {"prepare", "migrate", "telethon-ingest", "worker", "api", "postgres", "redis"}
PROFILES = {
    "monitoring": {"prometheus", "grafana"},
    "graph": {"neo4j"},
    "vectors": {"qdrant"},
    "crawler": {"crawler"},
    "demo": {"demo"},
    "commands": {"tga"},
}
ROLES = {"telethon-ingest": "ingest", "worker": "worker", "api": "api"}
OURS = {*ROLES, "prepare", "migrate", "tga", "demo", "crawler"}
MEGABYTES = {"m": 1, "g": 1024}

type Service = dict[str, Any]


@cache
def services() -> dict[str, Service]:
    """What podman-compose makes of the file, with all profiles."""
    chosen = [word for profile in PROFILES for word in ("--profile", profile)]
    command = [sys.executable, "-m", "podman_compose", "--dry-run", *chosen, "config"]
    printed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True, timeout=60).stdout
    found: dict[str, Service] = yaml.safe_load(printed)["services"]
    return found


@cache
def whole() -> dict[str, Service]:
    found: dict[str, Service] = yaml.safe_load((CHECKOUT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return found


def environment(service: Service) -> dict[str, str]:
    return dict(service.get("environment", {}))


def volumes(service: Service) -> dict[str, str]:
    """Volume by the path where the container sees it."""
    return {target: source for source, target in (volume.split(":")[:2] for volume in service.get("volumes", []))}


def megabytes(service: Service) -> int:
    limit = str(service["mem_limit"])
    return int(limit[:-1]) * MEGABYTES[limit[-1]]


def test_the_services_have_the_names_that_operators_know() -> None:
    assert {name for name, service in services().items() if "profiles" not in service} == DEFAULT


def test_a_profile_adds_its_services_and_nothing_else() -> None:
    assert {name: service["profiles"] for name, service in services().items() if "profiles" in service} == {
        name: [profile] for profile, names in PROFILES.items() for name in names
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_is_complete_without_the_others(profile: str) -> None:
    chosen = {name: service for name, service in services().items() if service.get("profiles", [profile]) == [profile]}
    assert set(chosen) == DEFAULT | PROFILES[profile]
    assert {needed for service in chosen.values() for needed in service.get("depends_on", ())} <= set(chosen)


def test_every_image_has_a_pinned_tag_and_no_registry_address() -> None:
    dockerfile = (CHECKOUT / "Dockerfile").read_text(encoding="utf-8")
    images = [service["image"] for service in whole().values()] + re.findall(r"^ARG \w+_IMAGE=(\S+)$", dockerfile, re.MULTILINE)
    assert len(images) > len(whole())
    for image in images:
        assert re.fullmatch(r"([a-z]+/)?[a-z0-9-]+:v?\d+\.\d+\.?\d*(-[a-z]+)*", image), image


def test_our_image_has_the_version_of_the_program() -> None:
    assert {service["image"].partition(":")[2] for name, service in whole().items() if name in OURS} == {__version__}


def test_the_default_installation_fits_into_two_gigabytes() -> None:
    """Those that end have ended before the others begin."""
    ended = {name for service in whole().values() for name, until in _awaited(service).items() if until == "service_completed_successfully"}
    assert ended == {"prepare", "migrate"}
    assert sum(megabytes(whole()[name]) for name in DEFAULT - ended) <= 2048
    assert sum(megabytes(whole()[name]) for name in {*ended, "postgres", "redis"}) <= 2048


def _awaited(service: Service) -> dict[str, str]:
    awaited = service.get("depends_on", {})
    return {name: rule["condition"] for name, rule in awaited.items()} if isinstance(awaited, dict) else {}


def test_every_service_has_limits_and_gives_up_what_it_does_not_need() -> None:
    for name, service in whole().items():
        assert megabytes(service) > 0
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["read_only"] is (name != "neo4j")


def test_our_services_run_as_a_user_without_rights() -> None:
    assert {whole()[name]["user"] for name in OURS} == {"10001:10001"}


def test_services_that_stay_have_a_health_check_and_time_to_stop() -> None:
    grace = next(float(one.default) for one in variables() if one.name == "SHUTDOWN_GRACE_SECONDS")
    for name, service in whole().items():
        if name not in {"prepare", "migrate", "tga"}:
            assert service["healthcheck"]["test"], name
    for name in ROLES:
        assert int(whole()[name]["stop_grace_period"].removesuffix("s")) > grace


@pytest.mark.parametrize("name", [*ROLES, "demo"])
def test_a_role_that_is_not_ready_is_shown_as_unhealthy_and_is_not_restarted_for_it(name: str) -> None:
    """Compose restarts what has ended, not what is unhealthy."""
    assert re.search(r"curl -fsS http://127\.0\.0\.1:\S+/readyz$", " ".join(whole()[name]["healthcheck"]["test"][1:]))
    assert whole()[name]["restart"] in {"unless-stopped", "no"}


def test_an_engine_that_restarts_unhealthy_containers_asks_whether_the_process_lives() -> None:
    """Swarm restarts by the image's own check; a process that waits for a server gains nothing by that."""
    checks = re.findall(r"^HEALTHCHECK .*$", (CHECKOUT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    assert [re.findall(r'/[a-z]+(?=")', check) for check in checks] == [["/livez"]]


def test_ports_are_published_on_this_machine_only() -> None:
    ports = [port for service in whole().values() for port in service.get("ports", [])]
    assert len(ports) == 6
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_servers_are_reached_by_the_program_alone() -> None:
    assert {name for name, service in whole().items() if "data" in service.get("networks", [])} == {
        *ROLES,
        *("migrate", "tga", "demo", "postgres", "redis", "neo4j", "qdrant"),
    }
    assert {name for name, service in whole().items() if "crawling" in service.get("networks", [])} == {"worker", "crawler"}


def reaching(name: str, service: Service, given: Mapping[str, str], secrets: Path) -> dict[str, str]:
    """The environment in the container, where .env has the given values and `tga prepare` has run."""
    folder = secrets / (COMMANDS if name == "tga" else ROLES[name])
    fixed = {key: _interpolated(str(value), given) for key, value in environment(service).items()}
    return {**given, **{key: value.replace("/secrets", str(folder)) for key, value in fixed.items()}}


def _interpolated(text: str, given: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: given.get(found[1]) or found[2], text)


@pytest.mark.parametrize("name", [*ROLES, "tga"])
def test_every_setting_in_env_reaches_the_process_that_needs_it(name: str, tmp_path: Path) -> None:
    """A secret arrives as a file, and only where it is needed; everything else as it is."""
    given = {one.name: f"given-{one.name.lower()}" for one in variables()}
    place = COMMANDS if name == "tga" else ROLES[name]
    for secret in NEEDS[place]:
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / secret.lower()).write_text(given.get(secret, ""), encoding="utf-8")
    reached = reaching(name, whole()[name], given, tmp_path)
    missing = set()
    for one in variables():
        file = reached.get(f"{one.name}_FILE")
        if (Path(file).read_text(encoding="utf-8") if file else reached[one.name]) != given[one.name]:
            missing.add(one.name)
    kept_away = {secret for secret in NEEDS[COMMANDS] if secret in given and secret not in NEEDS[place]}
    assert missing == kept_away | (set() if name in {"telethon-ingest", "tga"} else {"TELEGRAM_SESSION_STRING"})


@pytest.mark.parametrize("name", [*ROLES, "tga", "migrate"])
def test_a_container_sees_the_secrets_that_its_settings_name(name: str) -> None:
    place = ROLES.get(name, COMMANDS)
    service = whole()[name]
    assert volumes(service)["/secrets"] == f"secrets-{place}"
    named = {value.removeprefix("/secrets/").upper() for key, value in environment(service).items() if key.endswith("_FILE")}
    assert named == {*NEEDS[place]} - {"POSTGRES_PASSWORD"}


def test_prepare_writes_into_the_volumes_that_others_read() -> None:
    assert volumes(whole()["prepare"]) == {f"/prepare/{place}": f"secrets-{place}" for place in NEEDS}
    made = re.search(r"install -d -o 10001 .*?(?=\nENV)", (CHECKOUT / "Dockerfile").read_text(encoding="utf-8"), re.DOTALL)
    assert made is not None
    assert set(re.findall(r"/prepare/(\w+)", made[0])) == set(NEEDS)


def test_without_env_the_settings_of_a_role_are_valid(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    for secret in NEEDS["api"]:
        (tmp_path / "api" / secret.lower()).write_text("postgresql://tga:secret@postgres:5432/tga", encoding="utf-8")
    settings = read_settings(reaching("api", whole()["api"], {}, tmp_path))
    assert settings.redis.url.get_secret_value() == "redis://redis:6379/0"
    assert settings.database.url.get_secret_value().endswith("@postgres:5432/tga")


def test_the_dashboards_and_the_rules_are_those_of_this_checkout() -> None:
    mounted = [*volumes(whole()["prometheus"]).values(), *volumes(whole()["grafana"]).values()]
    here = [path for path in mounted if path.startswith("./")]
    assert len(here) == 4
    assert all((CHECKOUT / path).exists() for path in here)
    assert volumes(whole()["grafana"])["/var/lib/grafana/dashboards"] == "./deploy/grafana/dashboards"
    assert volumes(whole()["prometheus"])["/run/secrets"] == "secrets-prometheus"


def test_everything_that_the_dockerfile_copies_is_let_through() -> None:
    dockerfile = (CHECKOUT / "Dockerfile").read_text(encoding="utf-8").replace("${REQUIREMENTS}", "image")
    ignore = (CHECKOUT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = [line.removeprefix("!") for line in ignore if line.startswith("!")]
    copied = [path for line in re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.MULTILINE) for path in line.split()]
    assert len(copied) > 5
    for path in copied:
        assert (CHECKOUT / path).exists()
        assert any(Path(path).match(pattern) or path.startswith(f"{pattern}/") for pattern in let_through), path
