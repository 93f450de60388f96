"""Shows values: as the environment has them, or without their secrets."""

from urllib.parse import urlsplit, urlunsplit

from pydantic import SecretStr

HIDDEN = "********"


def location_of(url: SecretStr) -> str:
    """Returns the address without user and password, for messages and logs."""
    parts = urlsplit(url.get_secret_value())
    host = parts.hostname or ""
    return f"{host}:{parts.port}{parts.path}" if parts.port else f"{host}{parts.path}"


def plain(value: object) -> str:
    """Returns a value as it is written in the environment."""
    if value is None:
        return ""
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def hide_secret(value: SecretStr | None) -> str:
    if value is None or not value.get_secret_value():
        return ""
    parts = urlsplit(value.get_secret_value())
    if parts.scheme and parts.hostname:
        user = (
            f"{parts.username}:{HIDDEN}@"
            if parts.password
            else f"{parts.username}@"
            if parts.username
            else ""
        )
        port = f":{parts.port}" if parts.port else ""
        return urlunsplit((parts.scheme, f"{user}{parts.hostname}{port}", parts.path, "", ""))
    return HIDDEN
