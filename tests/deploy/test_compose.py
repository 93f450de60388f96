"""The services of compose.yaml and the Dockerfile: names, limits, networks, volumes."""

import re
from pathlib import Path

import pytest

from telegram_assistant import __version__
from telegram_assistant.domain.media.showing import ThumbnailKey, ThumbnailSize
from telegram_assistant.features.operations.preparing import NEEDS
from telegram_assistant.features.operations.process_settings import DEFAULTS
from telegram_assistant.settings import variables
from telegram_assistant.stores.files import _thumbnail_path
from testkit.checkouts import CHECKOUT
from tests.deploy.composing import (
    DEFAULT,
    OURS,
    PROFILES,
    ROLES,
    Service,
    environment,
    megabytes,
    mounts,
    services,
    volumes,
    whole,
)


def test_the_services_have_the_names_that_operators_know() -> None:
    assert {name for name, service in services().items() if "profiles" not in service} == DEFAULT


def test_a_profile_adds_its_services_and_nothing_else() -> None:
    assert {name: service["profiles"] for name, service in services().items() if "profiles" in service} == {
        name: [profile] for profile, names in PROFILES.items() for name in names
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_is_complete_without_the_others(profile: str) -> None:
    chosen = {
        name: service
        for name, service in services().items()
        if service.get("profiles", [profile]) == [profile]
    }
    assert set(chosen) == DEFAULT | PROFILES[profile]
    assert {needed for service in chosen.values() for needed in service.get("depends_on", ())} <= set(chosen)


def test_every_image_has_a_pinned_tag_and_no_registry_address() -> None:
    dockerfile = (CHECKOUT / "Dockerfile").read_text(encoding="utf-8")
    images = [service["image"] for service in whole().values()] + re.findall(
        r"^ARG \w+_IMAGE=(\S+)$", dockerfile, re.MULTILINE
    )
    assert len(images) > len(whole())
    for image in images:
        assert re.fullmatch(r"([a-z]+/)?[a-z0-9-]+:v?\d+\.\d+\.?\d*(-[a-z]+)*", image), image


def test_our_image_has_the_version_of_the_program() -> None:
    assert {service["image"].partition(":")[2] for name, service in whole().items() if name in OURS} == {
        __version__
    }


def test_the_default_installation_fits_into_two_gigabytes() -> None:
    """Those that end have ended before the others begin."""
    awaiting = [service for name, service in whole().items() if name in DEFAULT]
    ended = {
        name
        for service in awaiting
        for name, until in _awaited_services(service).items()
        if until == "service_completed_successfully"
    }
    assert ended == {"prepare", "migrate"}
    assert sum(megabytes(whole()[name]) for name in DEFAULT - ended) <= 2048
    assert sum(megabytes(whole()[name]) for name in {*ended, "postgres", "redis"}) <= 2048


def _awaited_services(service: Service) -> dict[str, str]:
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
    grace = next(
        float(variable.default) for variable in variables() if variable.name == "SHUTDOWN_GRACE_SECONDS"
    )
    for name, service in whole().items():
        if name not in {"prepare", "migrate", "tga", "demo-prepare"}:
            assert service["healthcheck"]["test"], name
    for name in ROLES:
        assert int(whole()[name]["stop_grace_period"].removesuffix("s")) > grace


@pytest.mark.parametrize("name", [*ROLES, "demo"])
def test_a_role_that_is_not_ready_is_shown_as_unhealthy_and_is_not_restarted_for_it(name: str) -> None:
    """Compose restarts what has ended, not what is unhealthy."""
    assert re.search(
        r"curl -fsS http://127\.0\.0\.1:\S+/readyz$", " ".join(whole()[name]["healthcheck"]["test"][1:])
    )
    assert whole()[name]["restart"] in {"unless-stopped", "no"}


def test_an_engine_that_restarts_unhealthy_containers_asks_whether_the_process_lives() -> None:
    """Swarm restarts by the image's own check; a process that waits for a server gains nothing by that."""
    checks = re.findall(
        r"^HEALTHCHECK .*$", (CHECKOUT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [re.findall(r'/[a-z]+(?=")', check) for check in checks] == [["/livez"]]


def test_ports_are_published_on_this_machine_only() -> None:
    ports = [port for service in whole().values() for port in service.get("ports", [])]
    assert len(ports) == 6
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_no_block_of_the_readme_starts_two_services_on_one_port() -> None:
    """Somebody who types a whole block must end with something that runs."""
    start = (
        (CHECKOUT / "README.md")
        .read_text(encoding="utf-8")
        .partition("\n## Start\n")[2]
        .partition("\n## ")[0]
    )
    blocks = re.findall(r"```sh\n(.*?)```", start, re.DOTALL)
    started = [re.findall(r"^docker compose up( -d)?(?: (\w+))?", block, re.MULTILINE) for block in blocks]
    assert [len(lines) for lines in started] == [1, 1]
    for lines in started:
        names = [name for _, service in lines for name in ([service] if service else DEFAULT)]
        ports = [port for name in names for port in whole()[name].get("ports", [])]
        assert ports
        assert len(ports) == len(set(ports))
    assert "stop it first" in start


def test_servers_are_reached_by_the_program_alone() -> None:
    assert {name for name, service in whole().items() if "data" in service.get("networks", [])} == {
        *ROLES,
        *("migrate", "tga", "postgres", "redis", "neo4j", "qdrant"),
    }
    assert {name for name, service in whole().items() if "crawling" in service.get("networks", [])} == {
        "worker",
        "crawler",
    }


def test_the_processes_share_what_they_need_of_the_data_and_no_more() -> None:
    """Ingest downloads, the worker sweeps, the api shows pictures and keeps their thumbnails,
    commands fetch models.
    """
    files, thumbnails, models = (
        {"/data/files": "files"},
        {"/data/files/thumbs": "thumbnails"},
        {"/data/models": "models"},
    )
    assert mounts("telethon-ingest") == {**files, "/data/spool": "spool"}
    assert mounts("worker") == {**files, **thumbnails, "/data/models": "models:ro"}
    assert mounts("api") == {"/data/files": "files:ro", **thumbnails, "/data/models": "models:ro"}
    assert mounts("tga") == {**files, **thumbnails, **models}
    assert _thumbnail_path(ThumbnailKey(bytes(32), ThumbnailSize.SMALL)).startswith("thumbs/")


def test_what_is_mounted_below_data_exists_in_the_image_so_that_its_user_may_write_there() -> None:
    """An engine gives a new volume the owner of the folder in the image.

    A folder below a read-only one must exist beforehand.
    """
    dockerfile = (CHECKOUT / "Dockerfile").read_text(encoding="utf-8")
    made = re.search(r"install -d -o 10001 -g 10001 (.*?)(?=\nENV)", dockerfile, re.DOTALL)
    assert made is not None
    mounted = {target for name in [*ROLES, "tga"] for target in mounts(name)}
    assert mounted <= set(made[1].split())
    image = dict(
        pair.split("=")
        for pair in re.findall(
            r"\b[A-Z_]+=\S+", re.findall(r"^ENV (HTTP_HOST.*)$", dockerfile, re.MULTILINE)[0]
        )
    )
    assert image == {
        name: default.removeprefix("-") for name, default in DEFAULTS.items() if default.startswith("-")
    }


def test_the_demo_has_servers_and_secrets_of_its_own() -> None:
    mine = PROFILES["demo"]
    for name, service in whole().items():
        named = {volume.split(":")[0] for volume in service.get("volumes", [])}
        assert (
            all(volume.startswith(("secrets-demo", "demo")) for volume in named) is (name in mine)
            or not named
        )
        assert ("demo" in service.get("networks", [])) is (name in mine - {"demo-prepare"})
        assert set(_awaited_services(service)) <= (mine if name in mine else set(whole()) - mine)
    assert volumes(whole()["demo"])["/secrets"] == volumes(whole()["demo-prepare"])["/prepare/commands"]
    assert (
        volumes(whole()["demo-postgres"])["/secrets"] == volumes(whole()["demo-prepare"])["/prepare/postgres"]
    )
    assert whole()["demo-prepare"]["command"][:2] == whole()["prepare"]["command"][:2]
    assert {environment(whole()["demo"])["REDIS_URL"]} == {"redis://demo-redis:6379/0"}
    assert "env_file" not in whole()["demo-prepare"]
    assert all(
        "/prepare" in mount for mount in whole()["demo-prepare"]["tmpfs"][-1:]
    )  # the folders that nobody needs


def test_prepare_writes_into_the_volumes_that_others_read() -> None:
    assert volumes(whole()["prepare"]) == {f"/prepare/{place}": f"secrets-{place}" for place in NEEDS}
    made = re.search(
        r"install -d -o 10001 .*?(?=\nENV)", (CHECKOUT / "Dockerfile").read_text(encoding="utf-8"), re.DOTALL
    )
    assert made is not None
    assert set(re.findall(r"/prepare/(\w+)", made[0])) == set(NEEDS)


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
    copied = [
        path
        for line in re.findall(r"^COPY (?!--from)(.*) \S+$", dockerfile, re.MULTILINE)
        for path in line.split()
    ]
    assert len(copied) > 5
    for path in copied:
        assert (CHECKOUT / path).exists()
        assert any(Path(path).match(pattern) or path.startswith(f"{pattern}/") for pattern in let_through), (
            path
        )
