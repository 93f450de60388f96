"""The settings that each process of an installation in containers uses. compose.yaml passes these to it,
and no others.
"""

from collections.abc import Iterator, Mapping

from telegram_assistant.features.operations.preparing import COMMANDS, NEEDS
from telegram_assistant.settings import Settings, Variable, variables

EVERY_PROCESS = ("database", "redis", "http", "telemetry", "process")
MODELS = ("vectors", "ai", "gigachat", "openai", "embeddings")
GROUPS: Mapping[str, tuple[str, ...]] = {
    COMMANDS: tuple(Settings.model_fields),
    "ingest": (*EVERY_PROCESS, "telegram", "parser", "previews", "files"),
    "worker": (
        *EVERY_PROCESS,
        *MODELS,
        "streams",
        "files",
        "crawl",
        "graph",
        "web",
        "mail",
        "delivery",
        "outbound",
    ),
    "api": (*EVERY_PROCESS, *MODELS, "streams", "files", "graph", "api", "web", "delivery", "outbound"),
}
"""Groups of settings, by the process that uses them."""
SINGLE: Mapping[str, tuple[str, ...]] = {
    COMMANDS: (),
    "ingest": ("API_MAX_BODY_BYTES",),
    "worker": (),
    "api": ("SMTP_HOST", "TELEGRAM_DC_ADDR", "PUSH_JOINS_PER_DAY", "PREVIEWS_ENABLED"),
}
"""Settings of other groups that a process asks for: whether e-mail, a simulator,
joins or previews are set up. No secrets.
"""
OWN_NAME = "HOSTNAME"
"""A container has a name of its own."""
DEFAULTS = {
    "REDIS_URL": ":-redis://redis:6379/0",
    "ALLOWED_HOSTS": ":-telethon-ingest,worker,api",
    "HTTP_HOST": "-0.0.0.0",
    "FILES_DIR": "-/data/files",
    "MEDIA_SPOOL_DIR": "-/data/spool",
    "MODELS_DIR": "-/data/models",
    "DATABASE_DATA_DIR": ":-/data/files",
}
"""How compose.yaml fills in what .env leaves out.

After a hyphen without a colon, an empty value stays empty. Volumes are on one disk.
"""
BEGIN, END = (
    "# --- Settings by group, from .env: made from settings/ by `make generate` ---\n",
    "# --- End of the settings ---\n",
)


def is_passed(variable: Variable) -> bool:
    """Whether the environment carries it. Secrets that `tga prepare` makes reach a process as files."""
    return variable.name not in {*NEEDS[COMMANDS], OWN_NAME}


def variables_of(process: str) -> list[str]:
    """The variables of a process: those of its groups, and single ones."""
    return [
        name
        for variable in variables()
        if is_passed(variable) and (variable.group in GROUPS[process] or variable.name in SINGLE[process])
        for name in (variable.name, variable.also)
        if name
    ]


def format_compose_value(name: str) -> str:
    """How compose.yaml passes a variable on. An empty value counts as none."""
    return f"${{{name}{DEFAULTS.get(name, ':-')}}}"


def compose_settings() -> str:
    """The part of compose.yaml that lists all settings by group."""
    return BEGIN + "".join(_anchors()) + END


def _anchors() -> Iterator[str]:
    for group in Settings.model_fields:
        names = [
            name
            for variable in variables()
            if variable.group == group and is_passed(variable)
            for name in (variable.name, variable.also)
            if name
        ]
        yield (
            f"x-{group}: &{group}\n"
            + "".join(f"  {name}: {format_compose_value(name)}\n" for name in names)
            + "\n"
        )
