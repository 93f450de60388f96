"""Declares a setting: a group, a variable, and the checks that several groups share."""

from typing import Annotated, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

MAX_PORT = 65535


def variable(
    name: str,
    default: Any = ...,  # noqa: ANN401 -- as pydantic's own Field
    *,
    help: str,  # noqa: A002 -- as argparse and typer call it
    also: str = "",
    **rules: Any,  # noqa: ANN401 -- as above
) -> Any:  # noqa: ANN401 -- as above
    """Declares one environment variable; `also` is its second accepted name."""
    return Field(default, description=help, json_schema_extra={"variable": name, "also": also}, **rules)


def check_zone(name: str) -> str:
    """Returns the name unchanged if this time zone exists, otherwise raises ValueError."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise ValueError("unknown time zone; write it like Europe/Moscow or UTC") from error
    return name


def web_address(url: str) -> str:
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise ValueError("it must be a URL that begins with https:// or http://")
    return url


def split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def require_scheme(*schemes: str) -> AfterValidator:
    def check(url: SecretStr) -> SecretStr:
        if urlsplit(url.get_secret_value()).scheme not in schemes:
            raise ValueError(f"it must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
        return url

    return AfterValidator(check)


Port = Annotated[int, Field(ge=0, le=MAX_PORT)]


class SettingsGroup(BaseModel):
    """Related settings. Errors never repeat a wrong value: it may be a secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)
